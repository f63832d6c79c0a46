//go:build unix

package pins

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/collet-dev/collet/host/internal/rewrite"
)

// notWritable reports whether an error says that nobody, or not this user, may write
// there.
func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, rewrite.ErrReadOnly)
}
