package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files stores binary content in one directory, under names of its own: no
// stranger's string becomes part of a path.
type Files struct {
	dir  string
	root *os.Root
	stem string
	next int
}

// maxNames bounds the search for a free name.
const maxNames = 100_000

// OpenFiles makes the directory when it is missing. Files are called
// stem-1.png, stem-2.bin; of stem only letters, digits, - and _ are kept.
func OpenFiles(dir, stem string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	stem = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, stem)
	if stem == "" {
		stem = "result"
	}
	return &Files{dir: dir, root: root, stem: stem[:min(len(stem), 64)]}, nil
}

// Close releases the directory.
func (f *Files) Close() error { return f.root.Close() }

// store writes a new file that only its owner can read. It never replaces one.
func (f *Files) store(mime string, content []byte) (path string, err error) {
	for f.next < maxNames {
		f.next++
		name := fmt.Sprintf("%s-%d%s", f.stem, f.next, extension(mime))
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", errors.Join(err, f.root.Remove(name))
		}
		return filepath.Join(f.dir, name), nil
	}
	return "", fmt.Errorf("%s has no free name %s-N left", f.dir, f.stem)
}

// extension is the usual one of a few well-known types. The machine's own table
// is not asked: the same result has the same name everywhere.
func extension(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	switch strings.ToLower(strings.TrimSpace(mime)) {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/mpeg":
		return ".mp3"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "audio/ogg":
		return ".ogg"
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "application/zip":
		return ".zip"
	case "text/plain":
		return ".txt"
	case "text/html":
		return ".html"
	case "text/csv":
		return ".csv"
	}
	return ".bin"
}
