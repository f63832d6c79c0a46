// Package architecture holds the rules of the house as tests, over every module
// of the workspace: which package may import which, what a file and a package
// must have. It has no code of its own and is imported by nothing.
package architecture
