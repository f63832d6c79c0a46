//go:build unix

package control

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// strangerEnv makes this program another user's: it connects to that socket, or with
// a leading "=" has one there.
const strangerEnv = "CONTROL_TEST_STRANGER"

// nobody is a user that owns nothing.
const nobody = 65534

func init() {
	if socket := os.Getenv(strangerEnv); socket != "" {
		os.Exit(beStranger(socket))
	}
}

// beStranger prints what it got of the host, "" when it was refused.
func beStranger(socket string) int {
	if path, ok := strings.CutPrefix(socket, "="); ok {
		l, err := net.Listen("unix", path)
		if err == nil {
			err = os.Chmod(path, 0o777)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("ready")
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		heard, _ := conn.Read(make([]byte, 100))
		fmt.Println(heard)
		return 0
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := newStream(conn)
	_ = s.write(opHello, 1, pack(hello{build}))
	m, _ := s.read()
	fmt.Printf("%q", m.body)
	return 0
}

func stranger(t *testing.T, socket string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be another user; TestSame has the rule")
	}
	// The test's program is in a directory that others may not enter.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(open(t), "stranger")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied)
	cmd.Env = []string{strangerEnv + "=" + socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	return cmd
}

// open is a directory for everybody.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Another user is refused, also when modes let them come that far; and a host of
// another user is no host.
func TestAnotherUser(t *testing.T) {
	s := serve(t, "none", native())
	cmd := stranger(t, s.place.socket())
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("modes alone keep nobody out: %s", out)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(s.place.Dir): 0o755, s.place.Dir: 0o755, s.place.socket(): 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := stranger(t, s.place.socket()).CombinedOutput()
	if err != nil || string(out) != `""` {
		t.Errorf("another user got %s, %v", out, err)
	}
	s.until(t, 0)
	s.dial(t)

	theirs := Place{Dir: open(t), Name: "theirs"}
	cmd = stranger(t, "="+theirs.socket())
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := said.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	// A link to it is none of ours either.
	linked := place(t)
	if err := os.Mkdir(linked.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs.socket(), linked.socket()); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), linked, build); err == nil || !strings.Contains(err.Error(), "user 65534 is at the other end") {
		t.Errorf("the host of another user: %v", err)
	}
	heard := make([]byte, 100)
	if n, _ := said.Read(heard); string(heard[:n]) != "0\n" {
		t.Errorf("it was told %s bytes", heard[:n])
	}
	// And it is replaced, not followed.
	o, err := Own(linked)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	if info, err := os.Lstat(linked.socket()); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Errorf("the link is still there: %v %v", info, err)
	}
	if _, err := os.Stat(theirs.socket()); err != nil {
		t.Errorf("theirs is gone: %v", err)
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		uid, mine int
		ok        bool
	}{{1000, 1000, true}, {0, 0, true}, {0, 1000, false}, {1000, 0, false}, {-1, 1000, false}} {
		if err := same(c.uid, c.mine); (err == nil) != c.ok {
			t.Errorf("%d beside %d: %v", c.uid, c.mine, err)
		}
	}
}
