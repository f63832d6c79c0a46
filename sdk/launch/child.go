package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
)

// sink takes the chunks of one pipe, then its end. Both are called by one
// goroutine and must not block.
type sink interface {
	write(chunk []byte)
	end()
}

// child is one process that leads a session of its own, with our pipes on its
// three standard descriptors. Its end is an event, and includes the end of the
// whole session.
type child struct {
	cmd    *exec.Cmd
	group  group
	lease  *os.File
	pipes  []*os.File // read ends of stdout and stderr
	pumps  sync.WaitGroup
	exited context.Context // done once the session is gone and its output was read
	finish context.CancelFunc

	mu   sync.Mutex
	gone bool // the leader has exited, its pid may soon be another's
}

// spawn starts cmd, which has Path, Args, Env and Dir. The pipes are ours, not
// exec's, so that waiting for the process never becomes waiting for whoever
// inherited them.
func spawn(cmd *exec.Cmd, stdout, stderr sink) (*child, error) {
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, err
		}
		if len(ours) == 0 { // stdin: the child reads
			ours, theirs = append(ours, w), append(theirs, r)
		} else {
			ours, theirs = append(ours, r), append(theirs, w)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	cmd.SysProcAttr = leadSession()
	err := cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	c := &child{cmd: cmd, lease: ours[0], pipes: ours[1:]}
	c.exited, c.finish = context.WithCancel(context.Background())
	c.group, err = adopt(cmd.Process)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		closeAll(ours)
		return nil, err
	}
	c.pumps.Go(func() { pump(c.pipes[0], stdout) })
	c.pumps.Go(func() { pump(c.pipes[1], stderr) })
	go c.wait()
	return c, nil
}

// wait owns the end of the process: it ends when the process did.
func (c *child) wait() {
	defer c.finish()
	awaitExit(c.cmd)
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	// Where the system allows it the leader is still a zombie here, which keeps
	// its pid, and so the name of its session, from being given to a stranger.
	c.group.sweep()
	_ = c.cmd.Wait() // the state is in ProcessState
	c.group.release()
	_ = c.lease.Close()
	for _, f := range c.pipes {
		stopReading(f)
	}
	c.pumps.Wait()
	for _, f := range c.pipes {
		_ = f.Close()
	}
}

// kill kills the whole session. It does not wait; exited says when all is over.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.group.kill()
	}
}

// reason is the exit state as the system words it: "exit status 2", "signal:
// killed". It is valid once exited is done.
func (c *child) reason() string { return c.cmd.ProcessState.String() }

// pump copies one pipe into s until its end, or until stopReading: then it
// takes what the pipe holds at that moment, so that the last words of a process
// are kept although an escaped descendant still holds the other end.
func pump(f *os.File, s sink) {
	buf := make([]byte, 8<<10) // two for each adapter, which prints lines
	for {
		n, err := f.Read(buf)
		if n > 0 {
			s.write(buf[:n])
		}
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			readRest(f, buf, s)
		}
		s.end()
		return
	}
}
