package pins

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"

	"github.com/collet-dev/collet/host/internal/rewrite"
)

// notWritable reports whether an error says that nobody, or not this user, may write
// there.
func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, windows.ERROR_WRITE_PROTECT) || errors.Is(err, rewrite.ErrReadOnly)
}
