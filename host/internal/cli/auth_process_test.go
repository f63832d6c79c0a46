//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// login is a login under way in a process.
type login struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *syncBuffer
}

// syncBuffer is a buffer that is read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text []byte
	more chan struct{} // one signal is enough
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// await returns what is said when it holds part.
func (b *syncBuffer) await(t *testing.T, part string) string {
	t.Helper()
	deadline := time.After(probeLimit)
	for {
		if text := b.String(); strings.Contains(text, part) {
			return text
		}
		select {
		case <-b.more:
		case <-deadline:
			t.Fatalf("no %q in %q", part, b.String())
		}
	}
}

func (p *protected) begin(args ...string) *login {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), probeLimit)
	p.t.Cleanup(cancel)
	l := &login{cmd: p.command(ctx, append([]string{"auth", "login", "web"}, args...)...), stderr: &syncBuffer{more: make(chan struct{}, 1)}}
	var err error
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	l.cmd.Stderr = l.stderr
	if err := l.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return l
}

// address is where the person is to log in.
func (l *login) address(t *testing.T) string {
	t.Helper()
	text := l.stderr.await(t, "http://127.0.0.1")
	for {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "http://") && strings.Contains(text, line+"\n") {
				return line
			}
		}
		text = l.stderr.await(t, "/authorize?")
	}
}

// followed is where a browser ends that follows an address but cannot come back.
func followed(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Location")
}

func status(t *testing.T, err error) int {
	t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case !ok:
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// A host that serves has a server's tools once somebody has logged in, without a new
// session, and refreshes its token.
func testLoginForModel(t *testing.T, built string) {
	p := newProtected(t, built, "")
	ctx, cancel := context.WithTimeout(t.Context(), probeLimit)
	defer cancel()
	cmd := p.command(ctx, "serve", "--log-level", "debug")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := &syncBuffer{more: make(chan struct{}, 1)}
	cmd.Stderr = stderr
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
				t.Fatalf("%s: %v, stderr %s", method, err, stderr)
			}
			if gjson.GetBytes(raw, "id").Int() == int64(id) {
				return string(raw)
			}
		}
	}
	await := func(method string) {
		for {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatalf("%s: %v, stderr %s", method, err, stderr)
			}
			if gjson.GetBytes(raw, "method").String() == method {
				return
			}
		}
	}
	ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := ask("tools/list", `{}`); strings.Contains(got, "web__tell") {
		t.Errorf("before the login: %s", got)
	}
	p.must(0, "auth", "login", "web")
	await("notifications/tools/list_changed")
	if got := ask("tools/list", `{}`); !strings.Contains(got, "web__tell") {
		t.Errorf("after the login: %s", got)
	}
	got := ask("tools/call", `{"name":"web__tell","arguments":{}}`)
	text := gjson.Get(got, "result.content.0.text").String()
	token := strings.TrimPrefix(text, "it was sent Bearer ")
	if !p.auth.Accepts(token) {
		t.Fatalf("after it: %s", got)
	}
	p.tokens()
	p.loud = append(p.loud, token)
	// Its end, too, is nobody's business.
	p.auth.Expire()
	p.age()
	if got := ask("tools/call", `{"name":"web__tell","arguments":{}}`); gjson.Get(got, "result.isError").Bool() {
		t.Errorf("after the token ended: %s", got)
	}
	if got := ask("tools/call", `{"name":"web__fail","arguments":{}}`); !strings.Contains(got, "it was sent Bearer [token]") {
		t.Errorf("an error is %s", got)
	}
	p.processes(cmd.Process.Pid)
	in.Close()
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.quiet("stderr", stderr.String())
	p.files("credentials.json", "opened")
}

// A server that wants more than the token allows is told of with what to do, and the
// next login asks for it.
func testStepUp(t *testing.T, built string) {
	p := newProtected(t, built, "")
	p.auth.Change(func() { p.auth.Scopes = []string{"read"} })
	p.must(0, "auth", "login", "web")
	p.must(0, "tools", "call", "web/tell")
	p.auth.Change(func() { p.auth.Need = []string{"write"} })
	if out := p.must(5, "tools", "call", "web/tell"); !strings.Contains(out, "write") || !strings.Contains(out, "collet auth login web") {
		t.Errorf("the refusal says %s", out)
	}
	p.must(0, "auth", "login", "web")
	p.must(0, "tools", "call", "web/tell")
	if got := gjson.Get(p.must(0, "auth", "status", "web", "--json"), "credentials.0.scopes").Raw; got != `["read","write"]` && got != `["write","read"]` {
		t.Errorf("the scopes are %s", got)
	}
}

// A person with another device enters a code there.
func testLoginOnAnotherDevice(t *testing.T, built string) {
	p := newProtected(t, built, "[servers.web]\nurl = '$RESOURCE'\noauth = { grant = 'device_code' }\n")
	l := p.begin("--no-browser")
	text := l.stderr.await(t, "enter the code")
	if !strings.Contains(text, "http") {
		t.Errorf("it says %s", text)
	}
	p.auth.Allow()
	if code := status(t, l.cmd.Wait()); code != 0 {
		t.Fatalf("exit code %d: %s", code, l.stderr)
	}
	p.must(0, "tools", "call", "web/tell")
}
