package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxSecretFile bounds what ${file:PATH} reads, in bytes: a token, or a key in PEM.
const maxSecretFile = 64 << 10

// readSecret reads the file of a secret, without the line ends after it. A relative
// path starts at dir.
func readSecret(dir, home, path string) (string, error) {
	name := path
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home == "" {
			return "", errNoHome
		}
		name = filepath.Join(home, rest)
	}
	name = absolute(dir, name)
	fail := func(err error) (string, error) {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err
		}
		return "", fmt.Errorf("its file %s cannot be read: %w", quote(name), err)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fail(err)
	case !info.Mode().IsRegular(): // a pipe would have to be waited for
		return fail(errors.New("it is no regular file"))
	}
	file, err := os.Open(name)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
	switch {
	case err != nil:
		return fail(err)
	case len(text) > maxSecretFile:
		return fail(fmt.Errorf("it is longer than %d bytes", maxSecretFile))
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
