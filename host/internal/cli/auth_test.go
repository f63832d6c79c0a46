//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
)

// protected is an MCP server that wants tokens, and the authorization server that
// issues them, with a person's home whose server "web" it is.
type protected struct {
	*secretive
	auth *fakeauth.Server
}

func newProtected(t *testing.T, built, entry string) *protected {
	t.Helper()
	auth := fakeauth.Start(t)
	auth.Serve = protectedPeer
	if entry == "" {
		entry = "[servers.web]\nurl = '$RESOURCE'\nexposure = 'direct'\n"
	}
	s := newSecretive(t, built, strings.ReplaceAll(entry, "$RESOURCE", auth.Resource()))
	browser, err := exec.LookPath("browser") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	s.environ = append(s.environ, "BROWSER="+browser)
	s.loud = nil
	return &protected{s, auth}
}

// tokens makes every token that was issued one that must not be found.
func (p *protected) tokens() {
	for _, e := range p.auth.Events("") {
		for _, name := range []string{"code", "refresh_token", "client_secret", "code_verifier", "token"} {
			if v := e.Form.Get(name); v != "" {
				p.loud = append(p.loud, v)
			}
		}
	}
}

func (p *protected) must(want int, args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != want {
		p.t.Fatalf("%q: exit code %d, want %d: %s", args, code, want, out)
	}
	return out
}

func TestAuth(t *testing.T) {
	built := built(t)
	for name, test := range map[string]func(*testing.T, string){
		"login":               testLogin,
		"for a model":         testLoginForModel,
		"for more scopes":     testStepUp,
		"on another device":   testLoginOnAnotherDevice,
		"by paste":            testLoginByPaste,
		"listens for its own": testLoginListensForItsOwn,
		"canceled":            testLoginCanceled,
		"port taken":          testLoginPortTaken,
		"two at once":         testTwoLogins,
		"without a person":    testTokensWithoutLogin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, built)
		})
	}
}

// age has the stored credentials have been obtained a while ago: one that is refused
// at once is not one that has ended.
func (p *protected) age() {
	p.t.Helper()
	path := filepath.Join(p.home, ".config", "collet", "credentials.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	at := gjson.GetBytes(raw, "credentials.0.obtained")
	earlier := at.Time().Add(-5 * time.Minute).Format(time.RFC3339)
	text := strings.Replace(string(raw), at.Raw, `"`+earlier+`"`, 1)
	if text == string(raw) {
		p.t.Fatalf("when was it obtained? %s", raw)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// From the refusal to the tool's answer, and back.
func testLogin(t *testing.T, built string) {
	p := newProtected(t, built, "")
	out := p.must(5, "tools", "call", "web/tell", "--json")
	if got := gjson.Get(out, "failure.message").String(); gjson.Get(out, "failure.class").String() != "auth-failure" ||
		gjson.Get(out, "failure.delivery").String() != "not-sent" || !strings.Contains(got, "(401 Unauthorized)") || !strings.Contains(got, "collet auth login web") {
		t.Errorf("before the login: %s", out)
	}
	if out := p.must(5, "doctor", "web"); !strings.Contains(out, "-> collet auth login web") {
		t.Errorf("doctor says %s", out)
	}
	p.must(5, "auth", "status", "web")

	if out := p.must(0, "auth", "login", "web"); !strings.Contains(out, "logged in to web") {
		t.Errorf("login says %s", out)
	}
	opened, _ := os.ReadFile(filepath.Join(p.home, "opened"))
	if lines := strings.Split(string(opened), "\n"); lines[0] != "1" || !strings.HasPrefix(lines[1], p.auth.URL+"/authorize?") {
		t.Errorf("the browser was called with %q", opened)
	}
	told := p.must(0, "tools", "call", "web/tell")
	token := strings.TrimSpace(strings.TrimPrefix(told, "it was sent Bearer "))
	if !p.auth.Accepts(token) {
		t.Fatalf("the server was sent %q", told)
	}
	p.tokens()
	p.loud = append(p.loud, token)
	if out := p.must(4, "tools", "call", "web/fail"); !strings.Contains(out, "it was sent Bearer [token]") {
		t.Errorf("its error is %s", out)
	}
	status := p.must(0, "auth", "status", "web", "--json")
	for path, want := range map[string]string{"state": "logged-in", "issuer": p.auth.Issuer(), "refreshable": "true", "registered": "dynamic"} {
		if got := gjson.Get(status, "credentials.0."+path).String(); got != want {
			t.Errorf("%s is %q, want %q: %s", path, got, want, status)
		}
	}
	for _, args := range [][]string{{"auth", "status"}, {"servers", "list"}, {"doctor"}, {"config", "show"}, {"tools", "call", "web/fail", "--json"}} {
		out, _ := p.run(append(args, "--log-level", "debug")...)
		p.quiet(fmt.Sprint(args), out)
	}
	// A recording says that a token was asked for, and for what.
	recorded := filepath.Join(p.home, "recorded.jsonl")
	p.must(0, "record", "-o", recorded, "--", "tools", "call", "web/tell")
	if text, err := os.ReadFile(recorded); err != nil || !strings.Contains(string(text), `"kind":"token","server":"web","resource":"`+p.auth.Resource()+`"`) ||
		!strings.Contains(string(text), "it was sent Bearer [token]") {
		t.Errorf("%v, the recording is\n%s", err, text)
	}
	p.files("credentials.json", "opened")

	// A token that has ended is replaced without anybody being asked.
	p.auth.Expire()
	p.age()
	p.must(0, "tools", "call", "web/tell")
	if c := p.auth.Counts(); c.Refreshes != 1 || c.Authorizations != 1 {
		t.Errorf("counts are %+v", c)
	}
	// One that was revoked needs a person.
	p.auth.RevokeAll()
	p.age()
	if out := p.must(5, "tools", "call", "web/tell"); !strings.Contains(out, "collet auth login web") {
		t.Errorf("after it was revoked: %s", out)
	}
	if out, _ := p.run("servers", "list"); !strings.Contains(out, "needs login: collet auth login web") {
		t.Errorf("servers list says %s", out)
	}
	if out := p.must(0, "auth", "status"); !strings.Contains(out, "needs-login") {
		t.Errorf("status says %s", out)
	}
	p.must(0, "auth", "login", "web")
	p.must(0, "tools", "call", "web/tell")

	p.must(0, "auth", "logout", "web")
	if _, good := p.auth.Families(); good != 0 {
		t.Errorf("%d logins are good after the logout", good)
	}
	if out := p.must(0, "auth", "logout", "web"); !strings.Contains(out, "nobody was logged in") {
		t.Errorf("a second logout says %s", out)
	}
	p.must(5, "tools", "call", "web/tell")
	for args, want := range map[string]int{"login": 2, "login none": 8, "logout none": 8, "status none": 8, "login web x": 2, "status web x": 2} {
		p.must(want, append([]string{"auth"}, strings.Fields(args)...)...)
	}
}

// What a person pastes counts as what the browser brings, and nothing else does.
func testLoginByPaste(t *testing.T, built string) {
	p := newProtected(t, built, "")
	l := p.begin("--paste")
	back := followed(t, l.address(t))
	if _, err := os.Stat(filepath.Join(p.home, "opened")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a browser was opened")
	}
	fmt.Fprintf(l.stdin, "\nhello\nhttp://127.0.0.1:1/callback?code=x&state=of-another-run\n")
	l.stderr.await(t, "that is not the address at which this login ended")
	fmt.Fprintf(l.stdin, "  %s#fragment  \n", back)
	if code := status(t, l.cmd.Wait()); code != 0 {
		t.Fatalf("exit code %d: %s", code, l.stderr)
	}
	p.must(0, "tools", "call", "web/tell")
	p.must(0, "auth", "logout", "web")

	// The end of the input ends it, whether something was pasted or not.
	for _, typed := range []string{"", "hello", "hello\n"} {
		l := p.begin("--paste")
		l.address(t)
		fmt.Fprint(l.stdin, typed)
		l.stdin.Close()
		if code := status(t, l.cmd.Wait()); code != 5 || !strings.Contains(l.stderr.String(), "stdin ended before the address at which the login ends was read: run the command in a terminal") {
			t.Errorf("%q: exit code %d: %s", typed, code, l.stderr)
		}
	}
	// So does Ctrl-C, while it waits for more.
	l = p.begin("--paste")
	l.address(t)
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := status(t, l.cmd.Wait()); code != 130 {
		t.Errorf("exit code %d: %s", code, l.stderr)
	}
	// A last line needs no end.
	l = p.begin("--paste")
	fmt.Fprint(l.stdin, followed(t, l.address(t)))
	l.stdin.Close()
	if code := status(t, l.cmd.Wait()); code != 0 {
		t.Errorf("exit code %d: %s", code, l.stderr)
	}
	// Nobody reads the stdin of one that was not told to.
	l = p.begin("--no-browser")
	back = followed(t, l.address(t))
	l.stdin.Close()
	resp, err := http.Get(back)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if code := status(t, l.cmd.Wait()); code != 0 {
		t.Errorf("exit code %d: %s", code, l.stderr)
	}
}

// A request that another page or program sends to the listener ends nothing.
func testLoginListensForItsOwn(t *testing.T, built string) {
	p := newProtected(t, built, "")
	l := p.begin("--no-browser")
	back := followed(t, l.address(t))
	at, _, _ := strings.Cut(back, "?")
	for _, query := range []string{"", "?code=x", "?code=x&state=y", "?error=access_denied"} {
		resp, err := http.Get(at + query)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q is answered with %s", query, resp.Status)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", back, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("another host is answered with %v, %v", resp, err)
	}
	resp, err := http.Get(back)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("its own is answered with %v, %v", resp, err)
	}
	if page, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(page), "You can close this window") {
		t.Errorf("the browser shows %q, %v", page, err)
	}
	resp.Body.Close()
	if code := status(t, l.cmd.Wait()); code != 0 {
		t.Fatalf("exit code %d: %s", code, l.stderr)
	}
}

// Ctrl-C leaves no credential, no listener and no lock.
func testLoginCanceled(t *testing.T, built string) {
	p := newProtected(t, built, "")
	l := p.begin("--no-browser")
	back := followed(t, l.address(t))
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := status(t, l.cmd.Wait()); code != 130 {
		t.Errorf("exit code %d: %s", code, l.stderr)
	}
	if _, err := http.Get(back); err == nil {
		t.Error("the listener is still there")
	}
	p.must(5, "auth", "status", "web")
	p.must(0, "auth", "login", "web")
}

// A port that is taken is told before a browser is opened.
func testLoginPortTaken(t *testing.T, built string) {
	p := newProtected(t, built, "")
	port := strings.TrimPrefix(p.auth.URL, "http://127.0.0.1:") // which is taken
	text := fmt.Sprintf("[servers.web]\nurl = '%s'\noauth = { redirect_port = %s }\n", p.auth.Resource(), port)
	if err := os.WriteFile(filepath.Join(p.home, "mcp.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := p.run("auth", "login", "web"); code == 0 || !strings.Contains(out, "listen on port "+port) || !strings.Contains(out, "redirect_port") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if c := p.auth.Counts(); c.Authorizations != 0 {
		t.Errorf("counts are %+v", c)
	}
}

// Two logins at once end with one credential that is good.
func testTwoLogins(t *testing.T, built string) {
	p := newProtected(t, built, "")
	first, second := p.begin("--no-browser"), p.begin("--no-browser")
	for _, l := range []*login{second, first} {
		back := followed(t, l.address(t))
		if resp, err := http.Get(back); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", resp, err)
		}
	}
	for _, l := range []*login{first, second} {
		if code := status(t, l.cmd.Wait()); code != 0 {
			t.Errorf("exit code %d: %s", code, l.stderr)
		}
	}
	p.must(0, "auth", "status", "web")
	p.must(0, "tools", "call", "web/tell")
	p.auth.Expire()
	p.age()
	p.must(0, "tools", "call", "web/tell")
}

// Scripts need nobody: a command or a client that is enough by itself.
func testTokensWithoutLogin(t *testing.T, built string) {
	p := newProtected(t, built, `[servers.web]
url = "$RESOURCE"
oauth = { grant = "client_credentials", client_id = "robot", client_secret = "${ROBOT_SECRET}" }
[servers.cmd]
url = "$RESOURCE"
oauth = { token_command = "cat token.txt" }
[servers.std]
command = "sh"
args = ["-c", 'printf "%s\n" "stderr $$MCP_ACCESS_TOKEN" >&2; printf %s "$$MCP_ACCESS_TOKEN" > got.txt; exec $PLUGINS/faultserver']
oauth = { token_command = "cat token.txt" }
[servers.person]
command = "true"
oauth = { resource = "$RESOURCE" }
`)
	p.environ = append(p.environ, "ROBOT_SECRET=canary-robot-secret")
	p.auth.Change(func() { p.auth.Clients["robot"] = "canary-robot-secret" })
	told := p.must(0, "tools", "call", "web/tell")
	token := strings.TrimSpace(strings.TrimPrefix(told, "it was sent Bearer "))
	if !p.auth.Accepts(token) {
		t.Fatalf("the server was sent %q", told)
	}
	p.loud = append(p.loud, token, "canary-robot-secret")
	if out := p.must(0, "auth", "login", "web"); !strings.Contains(out, "web needs no login: its grant is client_credentials") {
		t.Errorf("login says %s", out)
	}
	if err := os.WriteFile(filepath.Join(p.home, "token.txt"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(0, "tools", "call", "cmd/tell")
	p.must(0, "tools", "list", "std")
	if got, err := os.ReadFile(filepath.Join(p.home, "got.txt")); err != nil || string(got) != token {
		t.Errorf("the server over stdio got %q, %v", got, err)
	}
	if out := p.must(0, "servers", "logs", "std"); !strings.Contains(out, "stderr [token]") {
		t.Errorf("its log is %s", out)
	}
	if out := p.must(5, "tools", "list", "person"); !strings.Contains(out, "collet auth login person") {
		t.Errorf("who has to log in is told %s", out)
	}
	if out := p.must(0, "servers", "list"); !strings.Contains(out, "needs login: collet auth login person") || strings.Contains(out, "login web") {
		t.Errorf("servers list says %s", out)
	}
	for _, args := range [][]string{{"auth", "status"}, {"doctor"}, {"config", "show"}, {"tools", "call", "web/fail"}} {
		out, _ := p.run(append(args, "--log-level", "debug")...)
		p.quiet(fmt.Sprint(args), out)
	}
	p.files("token.txt", "got.txt", "credentials.json")
}
