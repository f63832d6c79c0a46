package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// What a test started is a process of its family where its program lies in the
// directory that is asked for.
func TestFamily(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("no /proc/PID/smaps_rollup here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sum, n, err := Family(os.Getpid(), filepath.Dir(self))
	if err != nil || n != 1 || sum < 1<<20 {
		t.Errorf("of this program's directory: %d bytes, %d processes, %v", sum, n, err)
	}
	if sum, n, err := Family(os.Getpid(), t.TempDir()); err != nil || n != 0 || sum != 0 {
		t.Errorf("of another directory: %d bytes, %d processes, %v", sum, n, err)
	}
}

func TestMarked(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc/PID/environ here")
	}
	mark := "COLLET_BENCH_PLACE=" + t.TempDir()
	cmd := exec.Command("cat")
	cmd.Env = []string{mark}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids, err := Marked(mark)
	if err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("%v, %v, not %d", pids, err, cmd.Process.Pid)
	}
	if pids, err := Marked(mark[:len(mark)-1]); err != nil || len(pids) != 0 {
		t.Errorf("%v, %v for a part of the mark", pids, err)
	}
	in.Close()
	_ = cmd.Wait()
}
