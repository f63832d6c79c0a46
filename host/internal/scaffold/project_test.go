package scaffold_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds a program that a test starts; reaching it is a failure.
const patience = 5 * time.Minute

var binaries struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("COLLET_BIN_DIR") == "" && binaries.dir != "" {
		os.RemoveAll(binaries.dir)
	}
	os.Exit(code)
}

// bin is a directory with collet as it ships.
func bin(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts real programs")
	}
	if runtime.GOOS == "windows" {
		t.Skip("projects are built with make")
	}
	binaries.once.Do(func() {
		if binaries.dir = os.Getenv("COLLET_BIN_DIR"); binaries.dir != "" {
			return
		}
		if binaries.dir, binaries.err = os.MkdirTemp("", "collet-bin"); binaries.err == nil {
			binaries.err = build(filepath.Join(binaries.dir, "collet"), "../../cmd/collet")
		}
	})
	if binaries.err != nil {
		t.Fatal(binaries.err)
	}
	return binaries.dir
}

func build(file, dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// newcomer is somebody with collet, make and Go, and a checkout of the SDK, in an
// empty directory. No module comes over the network.
type newcomer struct {
	dir string
	env []string
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	programs := bin(t)
	sdk, err := filepath.Abs("../../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{dir: t.TempDir()}
	home := t.TempDir()
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "COLLET_") && !strings.HasPrefix(kv, "XDG_") {
			n.env = append(n.env, kv)
		}
	}
	n.env = append(n.env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "COLLET_SDK_DIR="+sdk, "GOPROXY=off")
	for _, kind := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
		n.env = append(n.env, "XDG_"+kind+"_HOME="+filepath.Join(home, kind))
	}
	// The caches of Go are found by HOME or XDG_CACHE_HOME, unless they are named.
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		n.env = append(n.env, name+"="+strings.TrimSpace(string(out)))
	}
	return n
}

// try runs a command line and returns what it said.
func (n *newcomer) try(t *testing.T, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = n.dir, n.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// do is try for what has to work.
func (n *newcomer) do(t *testing.T, line string) string {
	t.Helper()
	out, err := n.try(t, line)
	if err != nil {
		t.Fatalf("$ %s\n%s%v", line, out, err)
	}
	return out
}

// Each kind of project is written, builds, passes its tests and is certified, with
// nothing changed by hand.
func TestProjects(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	server := filepath.Join(t.TempDir(), "faultserver")
	if err := build(server, "../../../sdk/internal/faultserver"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flags, verify string
		passed              string // of 22, or the 13 of hooks
		hook                bool
	}{
		{name: "weather", passed: "20 passed, 0 failed"},
		{name: "docs", flags: "--mcp https://docs.example/mcp", passed: "22 passed, 0 failed"},
		{name: "files", flags: "--command " + server, verify: `--call echo`, passed: "0 failed"},
		{name: "quiet", flags: "--hook", passed: "13 passed, 0 failed, 0 skipped", hook: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &newcomer{dir: n.dir, env: n.env}
			if out := n.do(t, "collet plugins new "+c.name+" "+c.flags); !strings.Contains(out, "make test") {
				t.Errorf("nothing is said of what comes next: %s", out)
			}
			n.dir = filepath.Join(n.dir, "collet-plugin-"+c.name)
			n.do(t, "make")
			// make test is these two, and the contract again.
			tests := "TestTranscript"
			if c.hook {
				tests = "TestBefore"
			}
			n.do(t, "go vet ./... && go test -run "+tests+" .") // by go.mod alone
			if out := n.do(t, "make verify VERIFY='--patience 4 "+c.verify+"'"); !strings.Contains(out, "keeps the contract: ") || !strings.Contains(out, c.passed) {
				t.Errorf("verified: %s", out)
			}
		})
	}
}

// A project that was written without a checkout is built with one all the same, and
// go.mod stays as it was.
func TestSDKDirAtBuildTime(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	n.do(t, "COLLET_SDK_DIR= collet plugins new later")
	n.dir = filepath.Join(n.dir, "collet-plugin-later")
	before, err := os.ReadFile(filepath.Join(n.dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	n.do(t, "make && bin/collet-plugin-later describe")
	after, err := os.ReadFile(filepath.Join(n.dir, "go.mod"))
	if err != nil || string(after) != string(before) {
		t.Errorf("go.mod was\n%s\nand is\n%s%v", before, after, err)
	}
	if out, err := n.try(t, "COLLET_SDK_DIR=../elsewhere make"); err == nil || !strings.Contains(out, "COLLET_SDK_DIR=../elsewhere is no checkout of collet") {
		t.Errorf("with a checkout that is none: %v, %s", err, out)
	}
	if out, err := n.try(t, "COLLET_SDK_DIR= make"); err == nil {
		t.Errorf("without a checkout and a network it builds: %s", out)
	}
}
