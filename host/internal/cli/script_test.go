package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli"
	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/host/internal/front/control"
	"github.com/collet-dev/collet/host/internal/results"
)

func TestMain(m *testing.M) {
	host.ScriptProcess() // this program is started again for each script
	testscript.Main(tests{m}, map[string]func(){
		"collet": func() {
			if wait, err := time.ParseDuration(os.Getenv("TEST_COMPLETION_WAIT")); err == nil {
				cli.SetCompletionWait(wait)
			}
			cli.SetDialWait(5 * time.Second)
			os.Exit(cli.Main("1.2.3-test"))
		},
		"browser": func() { os.Exit(browse(os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	plugins := built(t)
	// Under nohup this process ignores SIGHUP, and so would all it starts. A signal
	// that is handled is at its default again in a child.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	searching := httptest.NewServer(http.HandlerFunc(searxng))
	t.Cleanup(searching.Close) // the scripts run when this function has returned
	auth := fakeauth.Start(t)
	auth.Serve = protectedPeer
	everything, here := referenceServer(t)
	run := func(t *testing.T, mode string, files []string) {
		testscript.Run(t, testscript.Params{
			Files: files,
			Setup: func(env *testscript.Env) error {
				env.Setenv("COLLET_DAEMON", mode)
				sockets, err := os.MkdirTemp("/tmp", "x") // their addresses are short
				if err != nil {
					return err
				}
				env.Setenv("XDG_RUNTIME_DIR", sockets)
				env.Defer(func() {
					stopDaemons(t, filepath.Join(sockets, "collet", "control"))
					_ = os.RemoveAll(sockets)
				})
				env.Setenv("RESOURCE", auth.Resource())
				env.Setenv("PLUGINS", plugins)
				env.Setenv("SEARCHING", searching.URL)
				env.Setenv("EXE", exe)
				env.Setenv("EVERYTHING", everything)
				if path, err := exec.LookPath("collet"); err == nil {
					env.Setenv("COLLET", path)
				}
				for _, kind := range []string{"CONFIG", "STATE", "CACHE", "DATA"} {
					env.Setenv("XDG_"+kind+"_HOME", filepath.Join(env.WorkDir, ".xdg", kind))
				}
				env.Setenv("COLLET_CONFIG", filepath.Join(env.WorkDir, "mcp.toml"))
				return nil
			},
			Condition: func(word string) (bool, error) {
				if word != "everything" {
					return false, fmt.Errorf("no condition is called %s", word)
				}
				return here, nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits":  exits,
				"json":   jsonPath,
				"keep":   keep,
				"let":    let,
				"age":    age,
				"awaits": awaits,
				"damage": damage,
			},
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
		})
	}
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	run(t, "", all)
	// The same through a host in the background, which the first command starts.
	t.Run("shared", func(t *testing.T) {
		run(t, "auto", slices.DeleteFunc(slices.Clone(all), func(file string) bool {
			return !slices.Contains(both, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		}))
	})
}

// both are the scripts that are no different with a host that runs. The others are
// about states of servers that nothing has started, about processes of a command's
// own, or about no servers at all.
var both = []string{
	"ask", "ask_everything", "ask_terminal", "bytes", "call", "completion", "completion_hung", "consent_terminal", "dead", "doctor", "list_missing",
	"results", "run", "schemas", "search", "terminal", "trust_terminal", "types", "unread_config",
}

// referenceServer is the one of MCP's authors, from npm, and whether it is there. Where
// COLLET_NPM_DIR says that it is, it must be.
func referenceServer(t *testing.T) (path string, here bool) {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", "..", ".cache", "npm")
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && must {
		t.Fatalf("COLLET_NPM_DIR names no servers from npm: %v", err)
	}
	return path, err == nil
}

// stopDaemons ends the hosts that a script has left running.
func stopDaemons(t *testing.T, dir string) {
	sockets, _ := filepath.Glob(filepath.Join(dir, "*.sock"))
	for _, socket := range sockets {
		ctx, cancel := context.WithTimeout(context.Background(), awaitLimit)
		place := control.Place{Dir: dir, Name: strings.TrimSuffix(filepath.Base(socket), ".sock")}
		c, err := control.Dial(ctx, place, "test")
		for control.Silent(err) && ctx.Err() == nil { // the machine is busy
			c, err = control.Dial(ctx, place, "test")
		}
		if c != nil {
			if err := c.Stop(ctx); err != nil {
				t.Errorf("stop the host: %v", err)
			}
			c.Close()
		} else {
			t.Logf("%s: %v", socket, err) // it was killed
		}
		cancel()
	}
}

// searxng stands for an instance of SearXNG that finds one page for each search.
func searxng(w http.ResponseWriter, r *http.Request) {
	found := map[string]string{"title": r.FormValue("q") + " <b>&</b>", "url": "https://example.com/" + r.FormValue("categories"), "content": "An excerpt."}
	_ = json.NewEncoder(w).Encode(map[string]any{"query": r.FormValue("q"), "results": []any{found}})
}

// exits runs "exits CODE program args..." and wants exactly that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// keep runs "keep NAME OWNER FILE": it keeps the MCP result in FILE for OWNER, as a
// host would, and puts its handle into $NAME.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: keep NAME OWNER FILE")
	}
	store := &results.Store{Dir: filepath.Join(ts.Getenv("XDG_STATE_HOME"), "collet", "results")}
	handle, err := store.Put(context.Background(), args[1], "s/t", []byte(ts.ReadFile(args[2])))
	ts.Check(err)
	ts.Setenv(args[0], handle)
}

// let runs "let FILE PATH": it writes what is at that GJSON path of the last stdout to
// the file. A variable would be another environment.
func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: let FILE PATH")
	}
	found := gjson.Get(ts.ReadFile("stdout"), args[1])
	if !found.Exists() {
		ts.Fatalf("nothing at %s", args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(found.String()), 0o600))
}

// age runs "age DURATION DIR": it makes the files of the directory look that old.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: age DURATION DIR")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	for _, path := range files(ts, args[1]) {
		when := time.Now().Add(-d)
		ts.Check(os.Chtimes(path, when, when))
	}
}

// damage runs "damage DIR": it changes a byte in the middle of each file there.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage DIR")
	}
	for _, path := range files(ts, args[0]) {
		data, err := os.ReadFile(path)
		ts.Check(err)
		if len(data) > 0 {
			data[len(data)/2] ^= 1
		}
		ts.Check(os.WriteFile(path, data, 0o600))
	}
}

func files(ts *testscript.TestScript, dir string) []string {
	all, err := filepath.Glob(filepath.Join(ts.MkAbs(dir), "*"))
	ts.Check(err)
	return all
}

// awaitLimit is what another process may take on a busy machine.
const awaitLimit = time.Minute

// awaits runs "awaits TEXT FILE": it waits until the file has the text.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaits TEXT FILE")
	}
	for end := time.Now().Add(awaitLimit); ; time.Sleep(10 * time.Millisecond) { // nothing tells of it
		data, err := os.ReadFile(ts.MkAbs(args[1]))
		if err == nil && strings.Contains(string(data), args[0]) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s never had %q: %s", args[1], args[0], data)
		}
	}
}

// jsonPath runs "json PATH WANT": the raw JSON at that GJSON path of the last
// stdout, a string without its quotes, is WANT; "! json PATH" wants nothing there.
func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || neg != (len(args) == 1) {
		ts.Fatalf("usage: json PATH WANT, or ! json PATH")
	}
	text := ts.ReadFile("stdout")
	if !gjson.Valid(text) {
		ts.Fatalf("stdout is not JSON: %s", text)
	}
	got := gjson.Get(text, args[0])
	switch {
	case neg && got.Exists():
		ts.Fatalf("%s is there: %s", args[0], got.Raw)
	case neg:
	case !got.Exists():
		ts.Fatalf("nothing at %s", args[0])
	default:
		have := got.Raw
		if got.Type == gjson.String || have == "" {
			have = got.String()
		}
		if want := args[1]; have != want {
			ts.Fatalf("%s is %s, want %s", args[0], fmt.Sprintf("%q", have), fmt.Sprintf("%q", want))
		}
	}
}
