//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A host in the background keeps a log, its crash included, and no directory busy.
func TestBackgroundLog(t *testing.T) {
	s := newFarewell(t)
	if code, _, stderr := s.run(t, "", "--log-level", "debug", "daemon", "start"); code != 0 {
		t.Fatal(code, stderr)
	}
	status := s.status(t)
	pid, log := int(status.Get("pid").Int()), status.Get("log").Str
	if runtime.GOOS == "linux" {
		if dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); err != nil || dir != "/" {
			t.Errorf("it is in %s, %v", dir, err)
		}
	}
	if _, out, _ := s.run(t, "", "daemon", "status"); !strings.Contains(out, "\nlog "+filepath.Join(s.home, "state", "collet", "logs", "daemon.log")+"\n") {
		t.Errorf("status: %s", out)
	}
	if code, _, stderr := s.run(t, "", "tools", "call", "n/echo", "text=x"); code != 0 {
		t.Error(code, stderr)
	}
	config := filepath.Join(s.home, "mcp.toml")
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, append(text, "# changed\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.until(t, "its log is written to", func() bool { text, _ = os.ReadFile(log); return strings.Contains(string(text), "level=INFO") })
	if err := syscall.Kill(pid, syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	s.until(t, "it has ended", func() bool { return !alive(pid) })
	if text, err = os.ReadFile(log); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`(?m)^\d{4}-\d\d-\d\dT\S+Z ` + strconv.Itoa(pid) + ` .*level=INFO msg="the configuration changed"`, `(?m) ` + strconv.Itoa(pid) + ` collet: the configuration changed$`, `SIGABRT`, `(?m)^goroutine \d+`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("the log has no %s:\n%.2000s", want, text)
		}
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Why a host does not start is said by who starts it, at once.
func TestBackgroundDoesNotStart(t *testing.T) {
	s := newFarewell(t)
	dir := filepath.Join(s.sockets, "collet", "control")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := s.run(t, "", "daemon", "start")
	if code != 3 || !strings.Contains(stderr, "chmod 700") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// A host that lost its socket is named, and not waited for.
func TestBackgroundWithoutSocket(t *testing.T) {
	s := newFarewell(t)
	pid, socket := s.hosting(t)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"start", "status", "stop"} {
		if code, _, stderr := s.run(t, "", "daemon", command); code != 4 || !strings.Contains(stderr, "the process "+strconv.Itoa(pid)+" is the host") {
			t.Errorf("%s: exit code %d, %s", command, code, stderr)
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}
