package check

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// built are the programs under test, by name.
var built = map[string]string{}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "verified")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{"test": "../../internal/testadapter", "hook": "../../internal/testhook", "hello": "../../examples/hello"} {
		path := filepath.Join(dir, "collet-plugin-"+name)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		if out, err := exec.Command("go", "build", "-o", path, pkg).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		built[name] = path
	}
	// They wait most of the time, and would do so two at a time on a small machine.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// upstreamOK answers everything with a word.
var upstreamOK = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })

// proper are the options for the test adapter that keeps the contract but for modes.
func properOptions(modes string, only ...string) Options {
	return Options{
		Path: built["test"], Env: []string{"FAULT=proper," + modes}, Only: only, Upstream: upstreamOK,
		Config: json.RawMessage(`{"url":"${UPSTREAM}","token":"t"}`), Patience: 4, pause: time.Second,
	}
}

// verify runs checks and sees to it that nothing of the plugin is left.
func verify(t *testing.T, opt Options) *Report {
	t.Helper()
	var root, mark string
	opt.opened = func(s *subject) { root, mark = s.root, s.mark }
	r, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", root, err)
	}
	if pids := marked(mark); len(pids) > 0 {
		t.Errorf("processes are left: %v", pids)
	}
	return r
}

// TestBroken breaks one rule after the other, and each time the check of that rule
// has to name what is wrong. The same checks pass where nothing is broken.
func TestBroken(t *testing.T) {
	t.Parallel()
	fetch := Call{Tool: "fetch"}
	tests := []struct {
		check, modes, why string
		call              Call
	}{
		{"describe", "describelies", "disagree on: version", Call{}},
		{"describe", "describeasks", "used the network", Call{}},
		{"describe", "describefail", "failed (exit status 3)", Call{}},
		{"describe", "describejunk", "prints no description", Call{}},
		{"describe", "describehuge", "more than 1048576 bytes", Call{}},
		{"describe", "describehang", "had not ended", Call{}},
		{"identity", "oddname", `name "Test Plugin"`, Call{}},
		{"identity", "oddversion", `version "v1"`, Call{}},
		{"identity", "oddfeature", `feature "recofnigure"`, Call{}},
		{"config-schema", "arrayschema", `"type": "array"`, Call{}},
		{"config-schema", "unmarked", "api_token looks like a credential", Call{}},
		{"config-schema", "noschema", "config_schema is empty", Call{}},
		{"no-cookie", "nocookie", "exit status 0, not exit status 1", Call{}},
		{"no-cookie", "mute", "without a word", Call{}},
		{"no-cookie", "stays", "still running", Call{}},
		{"stdout", "chatty", `"configured!`, Call{}},
		{"stdout", "junk", "no handshake", Call{}},
		{"stdout", "exit=9", "exited without a handshake (exit status 9)", Call{}},
		{"bad-config", "anyconfig", "accepted", Call{}},
		{"bad-config", "noproblems", "without problems", Call{}},
		{"bad-config", "dieswrong", "the process ended (exit status 6)", Call{}},
		{"configure", "configurehang", "Configure", Call{}},
		{"configure", "nosnapshot", "begins with Health", Call{}},
		{"configure", "watchsilent", "Watch had said nothing", Call{}},
		{"list-tools", "changing", "something else the second time", Call{}},
		{"list-tools", "unsorted", "not sorted by name: fetch, echo, large", Call{}},
		{"list-tools", "misnamed", `its definition is of "other"`, Call{}},
		{"list-tools", "endless", "more than 1000 pages", Call{}},
		{"bad-arguments", "anything", "an unknown tool was carried out", Call{}},
		{"bad-arguments", "bare", "echo with {}: the status Internal without a Failure", Call{}},
		{"bad-arguments", "diesunknown", "an unknown tool: the process ended (exit status 7)", Call{}},
		{"events", "noresult", "ended without a result", Call{}},
		{"events", "tworesults", "has 2 results", Call{}},
		{"events", "goeson", "goes on after its result, with Progress", Call{}},
		{"events", "falls", "falls from 2 to 1", Call{}},
		{"events", "nojson", "no JSON object", Call{}},
		{"cancel", "ignorescancel", "still waiting for the upstream", fetch},
		{"cancel", "diescanceled", "the process ended (exit status 8)", fetch},
		{"concurrent", "onecall", "the process ended (exit status 2)", fetch},
		{"large-arguments", "smallrecv", "8 MiB of arguments: the status ResourceExhausted", Call{}},
		{"faults", "unclassified", "refused: fetch is unknown, and has to be connection-refused", fetch},
		{"faults", "barefault", "broken: fetch: the status Unavailable without a Failure", fetch},
		{"faults", "noretryafter", "rate-limited: fetch: its retry_after is 0s", fetch},
		{"faults", "unavailablemute", "refused: fetch ends in a result", fetch},
		{"secrets", "tells", "appears in stderr", Call{}},
		{"secrets", "tellsfailure", "appears in the failure of fetch", fetch},
		{"lease", "nolease", "still running", Call{}},
		{"lease", "leaveschild", "left 1 processes", Call{}},
		{"shutdown", "noshutdown", "still running", Call{}},
		{"shutdown", "leaveschild", "left 1 processes", Call{}},
		{"events", "calls,streamless", "on a stream of calls: echo: the status Unimplemented", Call{}},
		{"events", "calls,strangecall", "on a stream of calls: echo: the status Internal without a Failure: an event of call 8", Call{}},
		{"cancel", "calls,ignorescancel", "still waiting for the upstream", fetch},
		{"large-result", "calls,inline", "on a stream of calls: a large result of large: a result of", Call{}},
		{"large-result", "calls,keeps", "TakeResult of a result that was taken ends with OK, not NotFound", Call{}},
		{"unknown-fields", "strict", "Describe with an unknown field", Call{}},
		{"environment", "needs=COLLET_TEST_ONLY", "starts only with variables that it does not declare", Call{}},
		{"two-processes", "exclusive", "while another process of it runs", Call{}},
		{"stopped", "watchdog", "after it was stopped", Call{}},
		{"large-result", "smallsend", "a large result of large: the status ResourceExhausted", Call{}},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		seen[tt.check] = true
		t.Run(tt.check+"/"+tt.modes, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && strings.HasPrefix(tt.modes, "leaveschild") {
				t.Skip("what leaves its session is found on Linux only")
			}
			opt := properOptions(tt.modes, tt.check)
			opt.Call = tt.call
			switch tt.check {
			case "large-result":
				opt.Large.Tool = "large"
			case "environment":
				opt.Environ = append(os.Environ(), "COLLET_TEST_ONLY=1")
			case "stopped":
				opt.Patience = 1
			}
			if slices.Contains([]string{"describehang", "stays", "configurehang", "watchsilent", "ignorescancel", "noshutdown", "nolease", "leaveschild"}, tt.modes) {
				opt.Patience = 1
			}
			o := verify(t, opt).Outcomes[0]
			if o.Status != Failed || !strings.Contains(o.Why, tt.why) || o.Advice == "" {
				t.Errorf("it does not name %q:\n%v", tt.why, o)
			}
		})
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("no plugin breaks %s", name)
		}
	}
}

// TestProper is the counterpart: without a broken mode every check passes, and none
// is left out.
func TestProper(t *testing.T) {
	t.Parallel()
	for call, modes := range map[string]string{"": "", "fetch": "", "echo": "calls"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			opt := properOptions(modes)
			opt.Call.Tool = call
			opt.Large.Tool = "large"
			for _, o := range verify(t, opt).Outcomes {
				if o.Status != Passed && !(o.Name == "faults" && call != "fetch" || o.Name == "stopped" && !canPause) {
					t.Error(o)
				}
			}
		})
	}
}

// A tool that says itself that its source is not available is believed, and named.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	opt := properOptions("unavailable", "faults")
	opt.Call.Tool = "fetch"
	o := verify(t, opt).Outcomes[0]
	if o.Status != Passed || !strings.Contains(o.Why, "rate-limited, broken, truncated: fetch answers with available: false and a reason") {
		t.Error(o)
	}
}

// What every plugin gets may be given otherwise, too.
func TestUsualVariables(t *testing.T) {
	t.Parallel()
	opt := properOptions("", "environment")
	opt.Env = append(opt.Env, "PATH=/nowhere", "COLLET_TEST_MORE=1")
	o := verify(t, opt).Outcomes[0]
	if o.Status != Failed || strings.Contains(o.Why, "PATH") || !strings.Contains(o.Why, "COLLET_TEST_MORE") {
		t.Error(o)
	}
}

func TestHello(t *testing.T) {
	t.Parallel()
	r := verify(t, Options{Path: built["hello"], Patience: 4})
	if !r.OK() || r.Count(Passed) != 20 || r.Name != "hello" || r.Version != "0.1.0" {
		t.Errorf("%s\n%v", r.Summary(), r.Outcomes)
	}
}

// TestHostile has plugins that do what they can to stay, hang and flood: the run ends
// and nothing is left.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{
		"nohandshake", "closestdout", "deaf", "stopself", "flood=8388608,longline=1048576,poison", "nolease,noshutdown,escape",
		"proper,configurehang,describehang", "proper,ignorescancel,noshutdown,nolease,leaveschild", "otherservice", "exit=0",
	} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			opt := properOptions("")
			opt.Env, opt.Patience, opt.hurry, opt.pause = []string{"FAULT=" + modes}, 1, 5, 100*time.Millisecond
			if r := verify(t, opt); r.OK() {
				t.Errorf("nothing failed: %s", r.Summary())
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	opt := properOptions("configurehang", "configure", "events")
	var s *subject
	opt.opened = func(opened *subject) {
		s = opened
		time.AfterFunc(300*time.Millisecond, cancel)
	}
	if r, err := Run(ctx, opt); err == nil {
		t.Errorf("a report: %v", r.Outcomes)
	}
	if _, err := os.Stat(s.root); !os.IsNotExist(err) || len(marked(s.mark)) > 0 {
		t.Errorf("something is left: %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "no plugin was named"},
		{Options{Path: filepath.Join(t.TempDir(), "none")}, "none"},
		{Options{Path: t.TempDir()}, "it is a directory"},
		{Options{Path: built["hello"], Config: json.RawMessage("[]")}, "one JSON object"},
		{Options{Path: built["hello"], Only: []string{"colour"}}, `no check "colour"; there are: describe`},
		{Options{Path: built["hello"], Env: []string{"X"}}, "NAME=VALUE"},
	} {
		if r, err := Run(t.Context(), tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, %v", tt.want, r, err)
		}
	}
	for i, c := range checks {
		if c.number != i+1 {
			t.Errorf("%s has number %d", c.name, c.number)
		}
	}
}
