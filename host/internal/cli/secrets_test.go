//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/cli"
)

// The channels in which a secret reaches a server. Each value is unlike any other.
var channels = map[string]string{
	"env": "canary-env-71aa", "literal": "canary-literal-71ab", "command": "canary-command-71ac", "file": "canary-file-71ad",
	"header": "canary-header-71ae", "config": "canary-config-71af", "query": "canary-query-71ba", "password": "canary-password-71bb",
	"inherited": "canary-inherited-71bc", "variable": "canary-variable-71bd",
}

const leaks = `[host]
codemode = { cpu = "20s" }
[host.telemetry]
audit = true
audit_arguments = true
[servers.dies]
command = "sh"
args = ["-c", "echo stderr $$A_TOKEN $$B_KEY $$C_SECRET $$D_PASSWORD $$PLAIN $$SOME_TOKEN >&2; echo '{\"a\":\"'$$C_SECRET'\"}' >&2; exit 3"]
env = { A_TOKEN = "${IN_ENV}", B_KEY = "canary-literal-71ab", C_SECRET = "!echo canary-command-71ac", D_PASSWORD = "${file:secret.txt}", PLAIN = "$PLAIN_NAME" }
[servers.lives]
command = "sh"
args = ["-c", "echo stderr $$A_TOKEN $$SOME_TOKEN >&2; exec $PLUGINS/faultserver"]
env = { A_TOKEN = "${IN_ENV}" }
exposure = "direct"
[servers.refuses]
url = "$WEB/refuses?key=canary-query-71ba"
headers = { Authorization = "Bearer canary-header-71ae", X-Key = "!echo canary-command-71ac" }
[servers.echoes]
url = "$WITH_PASSWORD/echoes?key=canary-query-71ba"
headers = { X-Key = "canary-header-71ae" }
exposure = "direct"
[servers.hello]
plugin = "hello"
config = { greeting = "canary-config-71af $SOME_TOKEN" }
[servers.broken]
command = "true"
env = { A = "!echo broken $SOME_TOKEN canary-inherited-71bc >&2; exit 1" }
[servers.misfit]
plugin = "hello"
config = { greting = "canary-config-71af" }
`

// webPeer is a server that tells all it was sent: in the text of refusals, or, below
// /echoes, in its errors, its log and its results.
func webPeer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	all := fmt.Sprint(r.Header.Get("Authorization"), " ", r.Header.Get("X-Key"), " ", r.URL.RawQuery)
	if !strings.HasPrefix(r.URL.Path, "/echoes") {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+all+`"`)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `no entry with %s`, all)
		return
	}
	id := gjson.GetBytes(body, "id").Raw
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, result)
	}
	text, _ := json.Marshal(all)
	switch gjson.GetBytes(body, "method").String() {
	case "server/discover":
		answer(`"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"echoes","version":"1"}}`)
	case "tools/list":
		answer(`"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		if gjson.GetBytes(body, "params.name").String() == "fail" {
			answer(`"error":{"code":-32000,"message":` + string(text) + `,"data":{"seen":` + string(text) + `}}`)
			return
		}
		answer(`"result":{"content":[{"type":"text","text":` + string(text) + `}]}`)
	default:
		answer(`"error":{"code":-32601,"message":"method not found"}`)
	}
}

// secretive is a person's home with the configuration above.
type secretive struct {
	t       *testing.T
	home    string
	environ []string
	collet  string
	loud    []string // what must not be found; more than channels once tokens exist
}

func newSecretive(t *testing.T, built, text string) *secretive {
	peer := httptest.NewServer(http.HandlerFunc(webPeer))
	t.Cleanup(peer.Close)
	s := &secretive{t: t, home: t.TempDir(), collet: filepath.Join(built, "collet")}
	for _, value := range channels {
		s.loud = append(s.loud, value)
	}
	text = strings.NewReplacer("$WEB", peer.URL, "$WITH_PASSWORD", strings.Replace(peer.URL, "://", "://me:canary-password-71bb@", 1), "$PLUGINS", built).Replace(text)
	for name, content := range map[string]string{"mcp.toml": text, "secret.txt": "canary-file-71ad\n"} {
		if err := os.WriteFile(filepath.Join(s.home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "COLLET_CONFIG=" + filepath.Join(s.home, "mcp.toml"),
		"IN_ENV=canary-env-71aa", "SOME_TOKEN=canary-inherited-71bc", "PLAIN_NAME=canary-variable-71bd", "XDG_RUNTIME_DIR=" + t.TempDir()}
	return s
}

func (s *secretive) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.collet, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.home, s.environ, time.Second
	return cmd
}

// run runs one command line with nothing on stdin.
func (s *secretive) run(args ...string) (output string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), probeLimit)
	defer cancel()
	out, err := s.command(ctx, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	} else if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// quiet wants no secret in a text.
func (s *secretive) quiet(what, text string) {
	s.t.Helper()
	for _, value := range s.loud {
		if i := strings.Index(text, value); i >= 0 {
			s.t.Errorf("%s shows %q: ...%s...", what, value, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}

// files wants no secret in what collet has written.
func (s *secretive) files(except ...string) {
	s.t.Helper()
	err := filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		for _, name := range append(except, "mcp.toml", "secret.txt") {
			if d.Name() == name {
				return nil
			}
		}
		text, err := os.ReadFile(path)
		s.quiet("the file "+strings.TrimPrefix(path, s.home), string(text))
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// processes wants no secret on the command line of any process whose parent, or
// whose parent's parent and so on, is pid; it returns how many there are.
func (s *secretive) processes(pid int) (count int) {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "ps", "-A", "-o", "pid=,ppid=,args=").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	below := map[string]bool{fmt.Sprint(pid): true}
	for changed := true; changed; {
		changed = false
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) > 1 && below[f[1]] && !below[f[0]] {
				below[f[0]], changed = true, true
			}
		}
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && below[f[0]] {
			count++
			s.quiet("the process list", line)
		}
	}
	return count
}

func TestSecrets(t *testing.T) {
	built := built(t)
	t.Run("stay in", func(t *testing.T) { testSecretsStayIn(t, built) })
	t.Run("on a command line", func(t *testing.T) { testSecretOnCommandLine(t, built) })
	t.Run("while serving", func(t *testing.T) { testSecretsStayInWhileServing(t, built) })
}

// No secret, in whatever channel it came, is in what collet prints, logs, records or
// puts on a command line, whatever is called and whatever fails.
func testSecretsStayIn(t *testing.T, built string) {
	s := newSecretive(t, built, leaks)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	probe := func(args ...string) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out, _ := s.run(append(args, "--log-level", "debug")...)
			s.quiet(fmt.Sprintf("%q", args), out)
		})
	}
	for _, words := range cli.Commands() {
		if len(words) > 0 && (words[0] == "connect" || words[0] == "trust") {
			continue // one writes the files of other clients, the other's job is to show what is in a file
		}
		for _, more := range [][]string{nil, {"--json"}, {"dies"}, {"refuses", "--json"}} {
			probe(append(words[:len(words):len(words)], more...)...)
		}
	}
	for _, tool := range []string{"dies/x", "refuses/x", "echoes/fail", "hello/grete", "broken/x", "misfit/x", "lives/nothing"} {
		probe("tools", "call", tool, "--json")
		probe("tools", "call", tool, "name="+channels["env"])
	}
	probe("doctor", "--wait", "20s")
	probe("servers", "logs", "lives")
	wg.Wait()
	s.files()

	// It is not by failing in another way that nothing was shown.
	out, _ := s.run("tools", "call", "echoes/fail", "--json")
	if !strings.Contains(out, "[headers.") || !strings.Contains(out, "[url]") {
		t.Errorf("the upstream's error is not what it was: %s", out)
	}
	if out, _ := s.run("tools", "call", "dies/x"); strings.Count(out, "[env.C_SECRET]") < 2 || !strings.Contains(out, "[$IN_ENV]") {
		t.Errorf("the stderr of the server is not what it was: %s", out)
	}
	if out, code := s.run("tools", "call", "refuses/x"); code != 5 || !strings.Contains(out, "403") {
		t.Errorf("the refusal is not what it was: %d %s", code, out)
	}
	// What a tool answers is the user's, byte for byte.
	if out, _ := s.run("tools", "call", "echoes/tell"); !strings.Contains(out, channels["header"]) || !strings.Contains(out, "key="+channels["query"]) {
		t.Errorf("the result was changed: %s", out)
	}
	if out, _ := s.run("doctor", "lives", "dies"); strings.Contains(out, "command line") {
		t.Errorf("a secret is said to be on a command line: %s", out)
	}
}

// A secret that a person puts on a command line themselves is told of.
func testSecretOnCommandLine(t *testing.T, built string) {
	s := newSecretive(t, built, "[servers.s]\ncommand = '$PLUGINS/faultserver'\nargs = ['-log', '$IN_ENV', '-log', 'x']\nenv = { A_TOKEN = '$IN_ENV' }\n")
	out, code := s.run("doctor", "s")
	s.quiet("doctor", out)
	if code != 0 || !strings.Contains(out, "a secret is on its command line, where others on this machine can read it: args[1]\n") {
		t.Errorf("%d %s", code, out)
	}
}

// The same while collet serves: what a client is told, and what the process list shows.
func testSecretsStayInWhileServing(t *testing.T, built string) {
	s := newSecretive(t, built, leaks)
	ctx, cancel := context.WithTimeout(t.Context(), probeLimit)
	defer cancel()
	cmd := s.command(ctx, "serve", "--log-level", "debug")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(out)
	id := 0
	ask := func(method, params string) string {
		id++
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatalf("%s: %v, stderr %s", method, err, stderr.String())
			}
			s.quiet(method+" "+params, string(raw))
			if gjson.GetBytes(raw, "id").Int() == int64(id) {
				return string(raw)
			}
		}
	}
	ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask("logging/setLevel", `{"level":"debug"}`)
	ask("tools/list", `{}`)
	if got := ask("tools/call", `{"name":"echoes__fail","arguments":{"a":"canary-env-71aa"}}`); !strings.Contains(got, "[headers.") {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"dies__x", "refuses__x", "lives__nothing"} {
		ask("tools/call", `{"name":"`+name+`","arguments":{}}`)
	}
	got := ask("tools/call", `{"name":"codemode","arguments":{"code":"try { return await tools.echoes.fail({}) } catch (e) { return String(e) + e.stack }"}}`)
	if !strings.Contains(got, "[headers.") {
		t.Errorf("got %s", got)
	}
	if n := s.processes(cmd.Process.Pid); n < 3 {
		t.Errorf("only %d processes", n)
	}
	in.Close()
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	s.quiet("stderr", stderr.String())
	s.files()
}
