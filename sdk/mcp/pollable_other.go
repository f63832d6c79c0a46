//go:build !linux

package mcp

import "os"

// pollable is f: elsewhere there is no other file of the same stream.
func pollable(f *os.File) (own *os.File, release func()) { return f, func() {} }
