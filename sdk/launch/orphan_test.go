package launch

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// smallHostEnv makes the test binary a host of its own: it starts one adapter
// for each word of the value, prints the pids of the whole tree, and waits.
const smallHostEnv = "LAUNCH_TEST_SMALL_HOST"

func smallHost() {
	for _, fault := range strings.Fields(os.Getenv(smallHostEnv)) {
		grandchild := make(chan string, 1)
		p, err := Start(context.Background(), Spec{
			Path: os.Getenv("LAUNCH_TEST_ADAPTER"), StartTimeout: testWait, Env: append(ShortEnv(os.Environ()), "FAULT="+fault),
			OnStderr: func(line []byte) {
				if pid, ok := strings.CutPrefix(string(line), "grandchild "); ok {
					grandchild <- pid
				}
			},
		})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("pid", p.Pid())
		fmt.Println("pid", <-grandchild)
	}
	fmt.Println("ready", socketDirs.dir.path)
	select {}
}

func startSmallHost(t *testing.T, faults string) (host *exec.Cmd, tree []int, socketDir string) {
	t.Helper()
	host = exec.Command(os.Args[0])
	host.Env = append(os.Environ(), smallHostEnv+"="+faults, "LAUNCH_TEST_ADAPTER="+faulty)
	host.Stderr = os.Stderr
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Process.Kill(); _ = host.Wait() })
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		word, value, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "pid":
			pid, _ := strconv.Atoi(value)
			tree = append(tree, pid)
		case "ready":
			return host, tree, value
		default:
			t.Fatalf("the small host says %q", lines.Text())
		}
	}
	t.Fatal("the small host ended")
	return nil, nil, ""
}

// kill -9 of a host takes its whole tree, and the next host removes its sockets.
func TestHostKilled(t *testing.T) {
	needProc(t)
	host, tree, dir := startSmallHost(t, "grandchild grandchild")
	other, otherTree, otherDir := startSmallHost(t, "grandchild")
	if len(tree) != 4 || len(otherTree) != 2 {
		t.Fatalf("trees: %v, %v", tree, otherTree)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	killed := time.Now()
	for _, pid := range tree {
		eventually(t, "a process outlives its host", func() bool { return !alive(pid) })
	}
	if took := time.Since(killed); took > 2*time.Second {
		t.Errorf("the tree took %s to go", took)
	}
	for _, pid := range otherTree {
		if !alive(pid) {
			t.Error("another host's process is gone")
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the dead host's sockets: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	p := start(t, "")
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the dead host's sockets are still in %s (%v)", dir, err)
	}
	if _, err := os.Stat(otherDir); err != nil {
		t.Errorf("the living host's sockets: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	for _, pid := range otherTree {
		eventually(t, "a process outlives its host", func() bool { return !alive(pid) })
	}
}
