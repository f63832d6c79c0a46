package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/logfile"
	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// backgroundLog is the file to which hosts in the background write what others write to
// stderr. All of them share it, so that it stays within its bounds.
func backgroundLog() string { return filepath.Join(host.StateDir(), "logs", "daemon.log") }

// background writes lines to the log, each after the time and the process. The stack
// of a crash goes there too.
type background struct {
	path string
	log  *logfile.Writer

	mu    sync.Mutex
	begun []byte      // a line without its end
	crash fs.FileInfo // the file that a crash is written to
}

func openBackground(path string) (*background, error) {
	log, err := logfile.Open(path)
	if err != nil {
		return nil, err
	}
	b := &background{path: path, log: log}
	b.catch()
	return b, nil
}

func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = append(b.begun, p...)
	for {
		line, rest, whole := bytes.Cut(b.begun, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		_ = b.log.Line(append([]byte(stamp()), line...)) // nobody could be told
		b.begun = slices.Clone(rest)
		b.catch()
	}
}

func stamp() string { return fmt.Sprintf("%s %d ", time.Now().UTC().Format(time.RFC3339), os.Getpid()) }

// catch has a crash written to the log, which is another file when it was rotated.
func (b *background) catch() {
	now, err := os.Stat(b.path)
	if err != nil || b.crash != nil && os.SameFile(now, b.crash) {
		return
	}
	file, err := sharedfile.OpenFile(b.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close() // it is duplicated
	if debug.SetCrashOutput(file, debug.CrashOptions{}) == nil {
		b.crash = now
	}
}

// lastWordsSize is how much of the log is looked at for why a host did not start.
const lastWordsSize = 64 << 10

// lastWords is what a host in the background has said, as a person would have seen it.
func lastWords(path string, pid int) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from := max(info.Size()-lastWordsSize, 0)
	text := make([]byte, info.Size()-from)
	n, _ := file.ReadAt(text, from)
	var said []string
	for line := range strings.Lines(string(text[:n])) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(words) == 3 && words[1] == strconv.Itoa(pid) {
			said = append(said, strings.TrimPrefix(words[2], "collet: "))
		}
	}
	return strings.Join(said, "\n")
}

// backgroundDirectory is where a host in the background runs: at the root, where it keeps no
// file system busy, unless a project's file counts, which is looked for from here.
func (f *Factory) backgroundDirectory(layers []host.Layer) string {
	if f.named() == "" && slices.ContainsFunc(layers, func(l host.Layer) bool { return l.Layer == config.Project }) {
		return ""
	}
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.VolumeName(exe) + string(filepath.Separator)
}
