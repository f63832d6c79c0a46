//go:build !unix

package mcp

import "os"

// atOnce is nil: only a goroutine that waits can write.
func atOnce(*os.File) func(b []byte) int { return nil }
