package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Full reports whether an error says that a disk, or somebody's share of it, is full.
func Full(err error) bool {
	for _, full := range []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}
