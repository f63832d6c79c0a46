//go:build unix

package launch

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sweepWait bounds how long the end of a process waits for the kernel to
	// finish the members of its session that were killed. Only a process in
	// uninterruptible sleep takes longer, and no one can help that.
	sweepWait = time.Second
	// sweepPoll is how often it looks: strangers' ends are no event.
	sweepPoll = 2 * time.Millisecond
	// maxRest bounds what is read from a pipe after its process has ended: the
	// most a pipe can hold (/proc/sys/fs/pipe-max-size).
	maxRest = 1 << 20
)

// leadSession makes the child lead a session of its own: a Ctrl-C at the host's
// terminal does not reach it, and its descendants can be found by the session.
func leadSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// group is a session, named by its leader's pid.
type group struct{ pid int }

func adopt(p *os.Process) (group, error) { return group{pid: p.Pid}, nil }

func (g group) release() {}

// kill sends SIGKILL to the leader's process group and to every other member
// of the session that can be found. It returns how many others were alive.
func (g group) kill() int {
	_ = unix.Kill(-g.pid, unix.SIGKILL)
	others := sessionMembers(g.pid)
	for _, pid := range others {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return len(others)
}

// sweep kills what the dead leader left behind and waits until it is gone. It
// kills in a loop because a process may fork while it is being killed.
func (g group) sweep() {
	for deadline := time.Now().Add(sweepWait); g.kill() > 0 && time.Now().Before(deadline); {
		time.Sleep(sweepPoll)
	}
}

// stopReading wakes whoever reads f.
func stopReading(f *os.File) { _ = f.SetReadDeadline(time.Unix(1, 0)) }

// readRest reads what f holds now, without waiting for more.
func readRest(f *os.File, buf []byte, s sink) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		for left := maxRest; left > 0; {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			s.write(buf[:n])
			left -= n
		}
	})
}
