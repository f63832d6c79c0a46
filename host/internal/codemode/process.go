package codemode

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

const (
	// readyWait is how long a script's process may take to start: a machine that needs
	// this long for 25 ms of work is stuck.
	readyWait = 20 * time.Second
	// exitWait is how long what a dead process wrote is waited for.
	exitWait = 2 * time.Second
	// maxStderr of a script's process is kept: the beginning of a crash says why.
	maxStderr = 4 << 10
	// openFiles are enough for three pipes and what the runtime opens.
	openFiles = 32
)

// errGone is the error of a process that ended before it was ready.
var errGone = errors.New("it ended at once")

// process is a script's process.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // written to by one goroutine at a time, see write
	out    *bufio.Reader
	outEnd *os.File
	stderr *head
	mu     sync.Mutex    // of in
	exited chan struct{} // closed when cmd.ProcessState is set
}

// spawn starts a process and waits until its engine is up.
func spawn(ctx context.Context, command []string) (*process, error) {
	p := &process{stderr: &head{}, exited: make(chan struct{})}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for a script's process: %w", err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		inRead.Close()
		inWrite.Close()
		return nil, fmt.Errorf("make a pipe for a script's process: %w", err)
	}
	p.in, p.outEnd, p.out = inWrite, outRead, bufio.NewReaderSize(outRead, 64<<10)
	p.cmd = &exec.Cmd{
		Path: command[0], Args: command, Env: environment(), Dir: neutral(),
		Stdin: inRead, Stdout: outWrite, Stderr: p.stderr,
		SysProcAttr: attributes(), WaitDelay: exitWait,
	}
	err = p.cmd.Start()
	inRead.Close()
	outWrite.Close()
	if err != nil {
		inWrite.Close()
		outRead.Close()
		return nil, fmt.Errorf("start a script's process: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // what it says is in ProcessState
		close(p.exited)
	}()
	ready := make(chan error, 1)
	go func() {
		f, err := wire.Read(p.out, 0)
		if err == nil && f.Kind != wire.Ready {
			err = fmt.Errorf("it began with a frame of kind %d", f.Kind)
		}
		ready <- err
	}()
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case err = <-ready:
	case <-timer.C:
		err = fmt.Errorf("it was not ready after %s", readyWait)
		p.kill()
		<-ready
	case <-ctx.Done():
		err = ctx.Err()
		p.kill()
		<-ready
	}
	if err != nil {
		p.end()
		if first, _, _ := strings.Cut(p.stderr.String(), "\n"); first != "" {
			err = fmt.Errorf("%w: %s", errGone, first)
		}
		return nil, fmt.Errorf("start a script's process (%s): %w", command[0], err)
	}
	return p, nil
}

// neutral is a directory for a process that opens no file: the one for temporary files,
// or the root, where TMPDIR names none that there is.
func neutral() string {
	dir := os.TempDir()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return filepath.VolumeName(dir) + string(filepath.Separator)
}

// write sends the process a frame. It fails when the process has ended.
func (p *process) write(k wire.Kind, id uint32, body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return wire.Write(p.in, wire.Frame{Kind: k, ID: id, Body: body})
}

// end kills the process if it runs, and waits until nothing is left of it. Nobody
// reads from it any more.
func (p *process) end() {
	p.kill()
	<-p.exited
	p.in.Close()
	p.outEnd.Close()
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// cpu is what the process used until it ended.
func (p *process) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// fatal is the exit status of Go's runtime when it cannot go on.
const fatal = 2

// starved reports whether the process ended because it got no more memory. Only the
// runtime's last words tell that from its other ends.
func (p *process) starved() bool {
	said := p.stderr.String()
	return p.cmd.ProcessState.ExitCode() == fatal && (strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory"))
}

// head keeps the beginning of what is written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, b[:min(len(b), maxStderr-len(h.b))]...)
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimSpace(string(h.b))
}
