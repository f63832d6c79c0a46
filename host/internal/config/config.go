// Package config reads mcp.toml.
package config

// Problem is one fault of a configuration file.
type Problem struct {
	File         string
	Line, Column int
	Server, Key  string
	Message      string
}
