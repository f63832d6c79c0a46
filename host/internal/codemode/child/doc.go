// Package child is the process of one script: a JavaScript engine with the script's
// environment in it, and two pipes to the host. It takes one Program from its standard
// input, runs it, and says on its standard output what the script wants and how it
// ended. It never opens a connection, nor a file once it has a program, knows no tool,
// and enforces limits only to say kindly what the host and the system enforce anyway.
package child
