package install

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// maxArguments bounds what is read of a process's arguments, in bytes. The path of
// what is executed is among the first.
const maxArguments = 64 << 10

// executed says which versions a process of this user executes: the file in the store,
// or a copy of it. A script is not what its process executes; it is among the
// arguments, or open.
func executed(places, digests []string) (map[string]string, error) {
	why := map[string]string{}
	if len(digests) == 0 {
		return why, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("which processes run plugins cannot be seen: %w", err)
	}
	seen := 0
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		seen++
		for _, sum := range mentioned(places, digests, used(filepath.Join("/proc", e.Name()))) {
			why[sum] = fmt.Sprintf("process %d executes it", id)
		}
	}
	if seen == 0 {
		return nil, errors.New("which processes run plugins cannot be seen: /proc is empty; mount it")
	}
	return why, nil
}

// used is all that a process's directory says of files. Others' processes, and those
// that have ended meanwhile, say nothing.
func used(dir string) string {
	text, _ := os.Readlink(filepath.Join(dir, "exe"))
	if f, err := os.Open(filepath.Join(dir, "cmdline")); err == nil {
		arguments, _ := io.ReadAll(io.LimitReader(f, maxArguments))
		f.Close()
		text += "\x00" + string(arguments)
	}
	open, _ := os.ReadDir(filepath.Join(dir, "fd"))
	for _, fd := range open {
		file, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		text += "\x00" + file
	}
	return text
}
