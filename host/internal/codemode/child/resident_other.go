//go:build !linux

package child

import "runtime/debug"

// release gives back memory that only the start needed.
func release() { debug.FreeOSMemory() }
