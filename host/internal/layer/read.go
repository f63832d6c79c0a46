package layer

import (
	"errors"
	"io"
	"os"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/regular"
)

// read reads the file at path, whole and once, and at most one byte more than
// config takes. A pipe or a device that lies there, perhaps put there by
// somebody else, is neither waited for nor read.
func read(path string) ([]byte, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, config.MaxFile+1))
	if err != nil {
		return nil, reason(err)
	}
	return data, nil
}

// reason is err without the path, which its reader knows.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
