//go:build unix

package cli_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostilePlugins are what plugins of strangers do, and how doctor names it.
var hostilePlugins = []struct {
	name   string
	faults string   // of the test adapter
	says   []string // lines of doctor, as expressions
}{
	{"forks", "grandchild=own,escape", []string{
		`^note  forks +ready, `,
		`^ +note: processes that it started have left its session, and go on when it ends: sleep \(\d+\)$`,
	}},
	{"floods", "flood=67108864", []string{
		`^note  floods +ready, `,
		`^ +note: it has written \d+ MiB to stderr since it was started; `,
	}},
	{"lies", "proper,badschema,badpattern", []string{
		`^note  lies +ready, `,
		`^ +note: its settings are not validated, because its plugin's schema for them cannot be used: `,
		`^ +note: not validated: inputSchema of echo: `,
	}},
	{"huge", "hugelist=70000000", []string{
		`^FAIL  huge +a message to or from the adapter is over the limit of 65 MiB: `,
	}},
	{"version", "version=9", []string{
		`^FAIL  version +.*collet-plugin-version .*version 9 of the adapter contract.* speaks 1`,
	}},
	{"exits", "stderr=I AM NOT HERE,exit=7", []string{
		`^FAIL  exits +.*collet-plugin-exits exited before it was ready \(exit status 7\)`,
		`^ +stderr +\| I AM NOT HERE$`,
	}},
}

// A plugin of strangers that means harm is held in, and named by doctor; servers beside
// it notice nothing.
func TestHostilePlugins(t *testing.T) {
	bin := built(t)
	home := t.TempDir()
	sockets, err := os.MkdirTemp("/tmp", "x") // their addresses are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets)
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	toml := "[host]\nplugin_dirs = [\"plugins\"]\n[servers.good]\nplugin = \"hello\"\n[servers.swapped]\nplugin = \"swapped\"\n"
	for _, p := range hostilePlugins {
		toml += "[servers." + p.name + "]\nplugin = \"" + p.name + "\"\n"
		write("plugins/collet-plugin-"+p.name, "#!/bin/sh\nFAULT='"+p.faults+"' exec '"+filepath.Join(bin, "collet-plugin-fault")+"' \"$@\"\n", 0o755)
	}
	write("mcp.toml", toml, 0o600)
	link := func(to string) {
		t.Helper()
		path := filepath.Join(home, "plugins", "collet-plugin-swapped")
		_ = os.Remove(path)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"hello", "fault"} { // strangers' files, not those beside collet
		data, err := os.ReadFile(filepath.Join(bin, "collet-plugin-"+name))
		if err != nil {
			t.Fatal(err)
		}
		write("elsewhere/"+name, string(data), 0o755)
	}
	collet := func(args ...string) (string, int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "collet"), args...)
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + sockets, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "COLLET_CONFIG=" + filepath.Join(home, "mcp.toml"), "COLLET_DAEMON=off"}
		cmd.WaitDelay = time.Second // what escapes must not hold the output, either
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}

	link("../elsewhere/hello")
	if out, code := collet("doctor", "swapped"); code != 0 || !strings.Contains(out, "1 working, 0 degraded, 0 not working") {
		t.Fatalf("before it is swapped: exit code %d\n%s", code, out)
	}
	link("../elsewhere/fault")
	out, code := collet("doctor", "--wait", "1m")
	own, escaped := grandchildren(t, home)
	t.Cleanup(func() { _ = syscall.Kill(escaped, syscall.SIGKILL) })

	want := []string{
		`^ok    good +ready, 1 tool`,
		`^FAIL  swapped +the plugin file .*collet-plugin-swapped.* is not the one that was pinned`,
		`^ +-> find out who changed it; 'collet plugins trust swapped' accepts it as it is now$`,
		`^4 working, 0 degraded, 4 not working$`,
	}
	for _, p := range hostilePlugins {
		if p.name == "forks" && runtime.GOOS != "linux" {
			continue // who left is found on Linux only
		}
		want = append(want, p.says...)
	}
	for _, line := range want {
		if !regexp.MustCompile("(?m)" + line).MatchString(out) {
			t.Errorf("doctor has no line %s", line)
		}
	}
	if code != 5 { // the pin's is the worst
		t.Errorf("exit code %d", code)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	if alive(own) {
		t.Errorf("the process %d, which left the plugin's group, outlives it", own)
	}
	if !alive(escaped) {
		t.Error("what left its session was no process to name") // then the line above means nothing
	}
	const most = 24 << 20 // of 64 MiB
	if size := logged(t, home); size > most {
		t.Errorf("the logs have %d bytes", size)
	}
	if out, code := collet("tools", "call", "good/greet", "name=you"); code != 0 || !strings.Contains(out, "Hello, you!") {
		t.Errorf("the server beside them: exit code %d\n%s", code, out)
	}
	if out, code := collet("tools", "call", "swapped/greet", "name=you"); code != 5 || strings.Contains(out, "Hello") {
		t.Errorf("the swapped one: exit code %d\n%s", code, out)
	}
}

// grandchildren are those that the forking plugin has told of in its log: one in a group
// of its own, one in a session of its own.
func grandchildren(t *testing.T, home string) (own, escaped int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, "state", "collet", "logs", "forks-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`grandchild (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(found) != 2 {
		t.Fatalf("%s", text)
	}
	own, _ = strconv.Atoi(found[0][1])
	escaped, _ = strconv.Atoi(found[1][1])
	return own, escaped
}

// alive reports whether a process runs; one that nobody has waited for does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

// logged is the size of all logs.
func logged(t *testing.T, home string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(home, "state", "collet", "logs"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
