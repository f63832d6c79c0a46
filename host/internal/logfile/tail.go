package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// followInterval is how often a followed log is looked at: soon enough for a
// person, and cheap (one stat).
const followInterval = 200 * time.Millisecond

// Tail writes the last n lines of the log at path to w, those before its last
// rotation included, each with its newline. With follow it goes on with what is
// appended, through rotations, until ctx is done, and then returns nil; the log
// need not exist yet. Without, a log that does not exist is an error that is
// fs.ErrNotExist. Errors of w end it.
func Tail(ctx context.Context, path string, n int, follow bool, w io.Writer) error {
	file, err := sharedfile.OpenFile(path, os.O_RDONLY, 0)
	if err != nil && (!follow || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("reading the log: %w", err)
	}
	// The file may be rotated at any time: whoever has opened it goes on to read the
	// same one, under whichever name.
	t := &tail{path: path, file: file, w: w}
	defer t.close()
	if err := t.last(n); err != nil || !follow {
		return err
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := t.appended(); err != nil {
				return err
			}
		}
	}
}

type tail struct {
	path string
	file *os.File // nil while there is none; read up to the file's offset
	w    io.Writer
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// last writes the last n lines of both files.
func (t *tail) last(n int) error {
	if t.file == nil {
		return nil
	}
	current, err := end(t.file)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	var before []byte
	if missing := n - bytes.Count(current, []byte("\n")); missing > 0 {
		if before, err = t.rotated(); err != nil {
			return err
		}
		before = lines(before, missing)
	}
	_, err = t.w.Write(append(before, lines(current, n)...))
	return err
}

// rotated returns the end of the file before the current one, nil without one.
func (t *tail) rotated() ([]byte, error) {
	file, err := sharedfile.OpenFile(t.path+".1", os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	defer file.Close()
	if same(file, t.file) { // rotated just now: this is the current one
		return nil, nil
	}
	return end(file)
}

// appended writes what came since, and goes over to a new file when there is one.
func (t *tail) appended() error {
	if t.file != nil {
		if info, err := t.file.Stat(); err == nil {
			if at, err := t.file.Seek(0, io.SeekCurrent); err == nil && info.Size() < at {
				t.file.Seek(0, io.SeekStart) // somebody emptied it
			}
		}
		if err := t.copy(); err != nil {
			return err
		}
	}
	now, err := sharedfile.OpenFile(t.path, os.O_RDONLY, 0)
	if err != nil {
		return nil // between a rotation's two steps, or not there yet
	}
	if t.file != nil && same(now, t.file) {
		return now.Close()
	}
	if t.file != nil {
		// Lines may have come between the copy above and the rotation.
		if err := t.copy(); err != nil {
			now.Close()
			return err
		}
		t.file.Close()
	}
	t.file = now
	return t.copy()
}

func (t *tail) copy() error {
	_, err := io.Copy(t.w, t.file)
	return err
}

func same(a, b *os.File) bool {
	ia, err := a.Stat()
	if err != nil {
		return false
	}
	ib, err := b.Stat()
	return err == nil && os.SameFile(ia, ib)
}

// end reads the last lines of a file, as many as a log that is rotated in time can
// hold, and leaves its offset behind them. The last one has a newline.
func end(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const most = MaxSize + maxLine
	cut := info.Size() > most
	if cut {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(file)
	if cut {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	if len(data) > 0 && data[len(data)-1] != '\n' { // its writer died in the middle
		data = append(data, '\n')
	}
	return data, err
}

// lines returns the last n lines of data, which is empty or ends with a newline.
func lines(data []byte, n int) []byte {
	if n <= 0 || len(data) == 0 {
		return nil
	}
	at := len(data) - 1
	for range n {
		if at = bytes.LastIndexByte(data[:at], '\n'); at < 0 {
			return data
		}
	}
	return data[at+1:]
}
