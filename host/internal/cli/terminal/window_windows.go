package terminal

import (
	"io"
	"os"
)

// Resized tells nothing here: the system has no signal for it, and the size is looked at
// whenever something is shown.
func Resized() (tells <-chan os.Signal, stop func()) { return nil, func() {} }

// unread: the system does not say before something is written.
func unread(io.Writer) bool { return false }
