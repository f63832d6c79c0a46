package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// stranger is a user that the user database does not know.
const stranger = 64321

// odd is a machine that is not as machines usually are.
type odd struct {
	name string
	// env is what differs from the usual environment: "NAME=" takes the variable away.
	env []string
	// shell is what a shell does before it becomes collet: "$@". "" is that there is none.
	shell string
	// prepare changes the home directory.
	prepare func(t *testing.T, home string)
	// unprivileged has a stranger run it, for what root may do nevertheless.
	unprivileged bool
	// config is the mcp.toml, "" one with the plugin hello, and lines are the commands,
	// nil all.
	config string
	lines  []string
	// other are the commands that end otherwise than usual: with that exit code, and one
	// line on stderr that matches.
	other map[string]ending
	// check looks at the home directory when all is over.
	check func(t *testing.T, home string)
}

type ending struct {
	code int
	says string
}

// Every command works on odd machines, or says in one line what is missing and what to
// do. Nothing panics, and what collet only keeps for later costs no command anything.
func TestOddMachines(t *testing.T) {
	homeless := ending{3, "set HOME, or all of XDG_CONFIG_HOME"}
	readOnly := map[string]ending{
		"plugins install PLUGIN": {3, "permission denied; make .*/plugins writable, .*or set XDG_DATA_HOME"},
		"plugins remove hello":   {8, "is not installed"},
		"trust --yes CONFIG":     {3, "permission denied; make .* writable, .*or set XDG_STATE_HOME"},
	}
	for _, m := range []odd{
		{name: "an unknown user without HOME", env: []string{"HOME="}, unprivileged: true, other: map[string]ending{
			"tools list": homeless, "tools call hi/greet name=you": homeless, "tools call hi/greet name=you --json": homeless, "doctor": homeless,
			"config check": homeless, "plugins list": homeless, "plugins install PLUGIN": homeless, "plugins remove hello": homeless, "plugins prune": homeless,
			"trust --yes CONFIG": homeless, "run -": homeless, "types": homeless, "daemon status": homeless, "instructions": homeless,
		}},
		{name: "a home that cannot be written to", unprivileged: true, prepare: func(t *testing.T, home string) {
			if err := os.Chmod(home, 0o555); err != nil {
				t.Fatal(err)
			}
		}, other: readOnly, check: func(t *testing.T, home string) {
			if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
				t.Errorf("%v, %v", left, err)
			}
		}},
		{name: "a home that is not there", env: []string{"HOME=/proc/nowhere"}, unprivileged: true, other: map[string]ending{
			"plugins install PLUGIN": {3, "make .*/plugins writable, .*or set XDG_DATA_HOME"},
			"plugins remove hello":   {8, "is not installed"},
			"trust --yes CONFIG":     {3, "or set XDG_STATE_HOME"},
		}},
		{name: "a home that cannot be written to, and a plugin from elsewhere", unprivileged: true, config: "[host]\nplugin_dirs = [\"elsewhere\"]\n[servers.hi]\nplugin = \"hello\"\n",
			prepare: func(t *testing.T, home string) {
				if err := os.Chmod(home, 0o555); err != nil {
					t.Fatal(err)
				}
			}, lines: []string{"tools call hi/greet name=you", "plugins list"},
			other: map[string]ending{"tools call hi/greet name=you": {4, "permission denied; a plugin that does not lie beside collet .*: make .*/pinned writable"}}},
		{name: "a disk that is full", prepare: fill, other: map[string]ending{
			"plugins install PLUGIN": {3, "no space left on device; make .*/plugins writable, with room for plugins"},
			"plugins remove hello":   {8, "is not installed"},
			"trust --yes CONFIG":     {3, "no space left on device; make .* writable, with room in it"},
		}, check: func(t *testing.T, home string) {
			for path := range regularFiles(t, home) {
				if strings.Contains(path, ".part-") || strings.HasSuffix(path, "trust.json") {
					t.Errorf("half of a file is left: %s", path)
				}
			}
		}},
		{name: "a working directory that is gone", shell: `mkdir "$HOME/gone" && cd "$HOME/gone" && rmdir "$HOME/gone" && exec "$@"`},
		{name: "no directory for temporary files", env: []string{"TMPDIR=/proc/nowhere"}},
		{name: "stdin is closed", shell: `exec "$@" <&-`, other: map[string]ending{"run -": {2, "the script is empty"}}},
		{name: "stderr is closed", shell: `exec "$@" 2>&-`},
		{name: "everybody may write to new files", shell: `umask 000 && exec "$@"`, check: func(t *testing.T, home string) {
			for path, info := range regularFiles(t, home) {
				if info.Mode().Perm()&0o022 != 0 {
					t.Errorf("others may write to %s: %s", path, info.Mode())
				}
			}
		}},
		{name: "nobody else may read new files", shell: `umask 077 && exec "$@"`},
		{name: "the locale of 1970 and no colours", env: []string{"LANG=C", "LC_ALL=C", "TERM=dumb", "NO_COLOR=1", "COLUMNS=20"}},
	} {
		t.Run(m.name, func(t *testing.T) { m.run(t) })
	}
}

// usual is how commands end on a machine without oddities.
var usual = []struct {
	line string
	ending
}{
	{"version", ending{}}, {"completion bash", ending{}}, {"tools list", ending{}}, {"tools call hi/greet name=you", ending{}},
	{"tools call hi/greet name=you --json", ending{}}, {"run -", ending{}}, {"types", ending{}}, {"doctor", ending{}}, {"instructions", ending{}},
	{"config check", ending{}}, {"config show", ending{}}, {"plugins list", ending{}}, {"plugins install PLUGIN", ending{}},
	{"plugins remove hello", ending{}}, {"plugins prune", ending{}}, {"trust --yes CONFIG", ending{}}, {"daemon status", ending{4, "no host is running"}},
}

func (m odd) run(t *testing.T) {
	plugins := built(t)
	if m.unprivileged && os.Getuid() != 0 {
		t.Skip("only root starts programs as another user")
	}
	// t.TempDir is nobody else's, and what a stranger executes has to be readable.
	top, err := os.MkdirTemp("", "odd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	home, bin, config := filepath.Join(top, "home"), filepath.Join(top, "bin"), filepath.Join(top, "mcp.toml")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(home, 0o755), os.Mkdir(bin, 0o755),
		os.WriteFile(config, []byte(cmp.Or(m.config, "[servers.hi]\nplugin = \"hello\"\n")), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"collet", "collet-plugin-hello"} {
		data, err := os.ReadFile(filepath.Join(plugins, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(bin, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if m.config != "" { // the plugin is not beside collet then
		if err := os.Rename(bin, filepath.Join(top, "elsewhere")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(bin, 0o755), os.Rename(filepath.Join(top, "elsewhere", "collet"), filepath.Join(bin, "collet"))); err != nil {
			t.Fatal(err)
		}
	}
	if m.unprivileged {
		if err := os.Chown(home, stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
	if m.prepare != nil {
		m.prepare(t, home)
	}
	for _, c := range usual {
		if m.lines != nil && !slices.Contains(m.lines, c.line) {
			continue
		}
		want := c.ending
		if other, ok := m.other[c.line]; ok {
			want = other
		}
		words := strings.Fields(strings.NewReplacer("PLUGIN", filepath.Join(bin, "collet-plugin-hello"), "CONFIG", config).Replace(c.line))
		args := append([]string{filepath.Join(bin, "collet")}, words...)
		if m.shell != "" {
			args = append([]string{"/bin/sh", "-c", m.shell, "sh"}, args...)
		}
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = top
		cmd.Env = m.environment(home, config)
		if m.unprivileged {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		}
		cmd.Stdin = strings.NewReader(`console.log("from a script")`)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		told := stderr.String()
		switch code := cmd.ProcessState.ExitCode(); {
		case strings.Contains(told, "goroutine ") || strings.Contains(told, "panic"):
			t.Errorf("%s panics:\n%s", c.line, told)
		case code != want.code:
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.line, code, want.code, stdout.Bytes(), told)
		case strings.HasSuffix(c.line, "--json"):
			if !json.Valid(stdout.Bytes()) {
				t.Errorf("%s: %s", c.line, stdout.Bytes())
			}
		case strings.Contains(m.shell, "2>&-"):
		case strings.Count(strings.TrimSuffix(told, "\n  'collet servers logs hi' shows what it said\n"), "\n") > 1 || !regexp.MustCompile(want.says).MatchString(told):
			t.Errorf("%s: it says %q, want one line with %q", c.line, told, want.says)
		}
		if strings.HasPrefix(c.line, "tools call hi") && want.code == 0 && !strings.Contains(stdout.String(), "Hello, you!") {
			t.Errorf("%s: %q", c.line, stdout.String())
		}
	}
	if m.check != nil {
		m.check(t, home)
	}
}

func (m odd) environment(home, config string) []string {
	all := []string{"HOME=" + home, "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "COLLET_CONFIG=" + config}
	for _, v := range m.env {
		name, value, _ := strings.Cut(v, "=")
		kept := all[:0]
		for _, old := range all {
			if !strings.HasPrefix(old, name+"=") {
				kept = append(kept, old)
			}
		}
		if all = kept; value != "" {
			all = append(all, v)
		}
	}
	return all
}

// fill makes the home a file system of its own that has no room left, as full disks
// are: files can be made there, and not be written to.
func fill(t *testing.T, home string) {
	if err := syscall.Mount("none", home, "tmpfs", 0, "size=64k,mode=755"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(home, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	full, err := os.Create(filepath.Join(home, "full"))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = full.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func regularFiles(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all[path], err = d.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
