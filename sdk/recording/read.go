package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// maxLine bounds one line in bytes: arguments and a result of the largest size, both
// spelled as base64.
const maxLine = 3 * wire.MaxMessage

// Recording is what was read of a file.
type Recording struct{ Entries []Entry }

// ReadFile reads a recording. Errors name the file and the line.
func ReadFile(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return r, nil
}

// Read reads a recording. A last line that was cut off, as of a host that was killed,
// is left out. Errors begin with the line's number.
func Read(from io.Reader) (*Recording, error) {
	r := &Recording{}
	in := bufio.NewReaderSize(from, 64<<10)
	began := false
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		cut := errors.Is(err, io.EOF)
		if len(bytes.TrimSpace(line)) > 0 {
			header, err := headerOf(line)
			switch {
			case err != nil && cut && began:
				return r, nil
			case err != nil:
				return nil, fmt.Errorf("%d: %w", number, err)
			case header:
				began = true
			case !began:
				return nil, fmt.Errorf("%d: it is no recording: the first line has to say {\"collet\":\"recording\",\"version\":%d}", number, Version)
			default:
				var e Entry
				if err := json.Unmarshal(line, &e); err != nil && cut {
					return r, nil
				} else if err != nil {
					return nil, fmt.Errorf("%d: %w", number, err)
				}
				r.Entries = append(r.Entries, e)
			}
		}
		if cut {
			break
		}
	}
	if !began {
		return nil, errors.New("1: it is no recording: it is empty")
	}
	return r, nil
}

// headerOf says whether a line begins a session.
func headerOf(line []byte) (bool, error) {
	var h struct {
		Collet  string `json:"collet"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return false, err
	}
	if h.Collet != "recording" {
		return false, nil
	}
	if h.Version != Version {
		return false, fmt.Errorf("the recording has version %d of the format, and this is %d: record it again, or use another collet", h.Version, Version)
	}
	return true, nil
}

// readLine reads one line without its break.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

// Servers are the names of the servers in it, sorted.
func (r *Recording) Servers() []string {
	var names []string
	for _, e := range r.Entries {
		names = append(names, e.Server)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tools are those of a server as it last listed them, all pages; tools that were
// called and never listed are not among them.
func (r *Recording) Tools(server string) []Tool {
	var tools []Tool
	for _, e := range r.Entries {
		if e.Kind != Tools || e.Server != server || e.Failure != nil {
			continue
		}
		if e.Page == "" {
			tools = nil
		}
		tools = append(tools, e.Tools...)
	}
	return tools
}

// Snapshot is the last snapshot of a server, nil when there is none.
func (r *Recording) Snapshot(server string) *Entry {
	for i := len(r.Entries) - 1; i >= 0; i-- {
		if e := &r.Entries[i]; e.Kind == Snapshot && e.Server == server {
			return e
		}
	}
	return nil
}

// Check reads the beginning of a file, and says why what follows could not be appended
// to it: it is no recording, of another version, or its last line was cut off.
func Check(f io.ReadSeeker) error {
	first, err := readLine(bufio.NewReader(f))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if header, err := headerOf(first); err != nil {
		return err
	} else if !header {
		return errors.New("it is no recording")
	}
	if _, err := f.Seek(-1, io.SeekEnd); err != nil {
		return err
	}
	var last [1]byte
	if _, err := io.ReadFull(f, last[:]); err != nil {
		return err
	}
	if last[0] != '\n' {
		return errors.New("its last line was cut off; remove that line first")
	}
	return nil
}
