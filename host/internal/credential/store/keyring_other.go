//go:build !linux

package store

import "runtime"

func reachable() bool { return runtime.GOOS == "darwin" || runtime.GOOS == "windows" }
