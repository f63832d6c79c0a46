package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
)

// person is somebody at a terminal in a project that is not trusted.
type person struct {
	root     string
	in       io.Reader
	noInput  bool // stdin is no terminal
	err, out bytes.Buffer
	layers   string // of the host that was opened
}

func newPerson(t *testing.T, project string) *person {
	t.Helper()
	p := &person{root: t.TempDir()}
	for path, text := range map[string]string{"user.toml": "[servers.u]\nplugin='p'\n", "repo/mcp.toml": project} {
		path = filepath.Join(p.root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *person) discover(dir string) *host.Discovery {
	if dir == "" {
		dir = filepath.Join(p.root, "repo")
	}
	return host.Discover(host.Places{UserFile: filepath.Join(p.root, "user.toml"), Dir: dir, StateDir: p.root})
}

func (p *person) run(ctx context.Context, args ...string) int {
	p.out.Reset()
	p.err.Reset()
	streams := &terminal.Streams{In: p.in, Out: &p.out, Err: &p.err, InTerminal: !p.noInput, OutTerminal: true, ErrTerminal: true, Width: 80}
	f := New(streams, func(string) string { return "" }, "test")
	f.Discover = p.discover
	f.Open = func(_ context.Context, opt host.Options) (openHost, error) {
		p.layers = ""
		for _, l := range opt.Layers {
			p.layers += string(l.Layer) + " "
		}
		return &fakeHost{listing: host.Listing{Servers: []host.Server{{Name: "u", State: "idle"}}}}, nil
	}
	return f.Run(ctx, args)
}

// Whoever opens the host is asked on stderr, only a yes is a yes, and an answer
// is remembered.
func TestQuestion(t *testing.T) {
	const project, user = "user project ", "user "
	for said, c := range map[string]struct {
		layers string
		again  bool
	}{
		"y\n": {project, false}, "YES\r\n": {project, false}, " Yes \n": {project, false},
		"\n": {user, false}, "n\n": {user, false}, "yess\n": {user, false}, "\x1b[A\n": {user, false},
		"": {user, true}, "yes": {user, true}, "\x04": {user, true}, strings.Repeat("y", 5000): {user, true},
	} {
		p := newPerson(t, "[servers.x]\ncommand='sh'\n")
		rest := strings.NewReader(said + "the command's own")
		p.in = rest
		if !strings.HasSuffix(said, "\n") {
			p.in = strings.NewReader(said)
		}
		if code := p.run(t.Context(), "servers", "list"); code != 0 || p.layers != c.layers {
			t.Errorf("%.10q: exit code %d, layers %q, want %q: %s", said, code, p.layers, c.layers, p.err.String())
		}
		if strings.Count(p.err.String(), "[y/N]") != 1 || !strings.Contains(p.err.String(), `command = "sh"`) || strings.Contains(p.out.String(), "sh") {
			t.Errorf("%.10q: asked like this: %s", said, p.err.String())
		}
		if told := strings.Contains(p.err.String(), "is ignored"); told != (c.layers == user) {
			t.Errorf("%.10q: told that it is ignored: %v", said, told)
		}
		if left, _ := io.ReadAll(rest); strings.HasSuffix(said, "\n") && string(left) != "the command's own" {
			t.Errorf("%.10q: left on stdin: %q", said, left)
		}
		p.in = strings.NewReader("y\n")
		p.run(t.Context(), "servers", "list")
		if asked := strings.Contains(p.err.String(), "[y/N]"); asked != c.again || (p.layers == project) != (c.again || c.layers == project) {
			t.Errorf("%.10q: asked again: %v, layers %q", said, asked, p.layers)
		}
	}
}

// A no is about what was shown; collet trust and a changed file ask again.
func TestRefused(t *testing.T) {
	p := newPerson(t, "[servers.x]\ncommand='sh'\n")
	p.in = strings.NewReader("n\n")
	p.run(t.Context(), "servers", "list")
	p.in = strings.NewReader("")
	if code := p.run(t.Context(), "servers", "list"); code != 0 || strings.Count(p.err.String(), "\n") != 1 || !strings.Contains(p.err.String(), "is not trusted, and is ignored") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if p.run(t.Context(), "trust", "--list"); !strings.Contains(p.out.String(), "refused") {
		t.Errorf("listed as %s", p.out.String())
	}
	file := filepath.Join(p.root, "repo", "mcp.toml")
	if err := os.WriteFile(file, []byte("[servers.x]\ncommand='sh' \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p.run(t.Context(), "servers", "list"); !strings.Contains(p.err.String(), "[y/N]") {
		t.Errorf("a changed file: %s", p.err.String())
	}
	if err := p.discover("").Refuse(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.in = strings.NewReader("y\n")
	if code := p.run(t.Context(), "trust"); code != 0 || p.discover("").Ignored() != nil {
		t.Errorf("trust: exit code %d: %s", code, p.err.String())
	}
}

// Nobody is asked who is not there, nor by a command that opens no host.
func TestNoQuestion(t *testing.T) {
	p := newPerson(t, "[servers.x]\ncommand='sh'\n")
	p.in, p.noInput = strings.NewReader("y\n"), true
	if code := p.run(t.Context(), "servers", "list"); code != 0 || p.layers != "user " || strings.Contains(p.err.String(), "[y/N]") {
		t.Errorf("without a terminal: %s", p.err.String())
	}
	if n := strings.Count(p.err.String(), "\n"); n != 1 {
		t.Errorf("%d lines, want one notice: %s", n, p.err.String())
	}
	p.noInput = false
	for _, args := range []string{"--help", "tools --help", "version", "completion bash", "config check", "config show", "config path", "config schema",
		"trust --list", "__complete servers logs ", "__complete tools call x/", "nonsense"} {
		p.in = strings.NewReader("y\n")
		p.run(t.Context(), strings.Split(args, " ")...)
		if strings.Contains(p.err.String()+p.out.String(), "[y/N]") || strings.Contains(p.layers, "project") {
			t.Errorf("%s: %s", args, p.err.String())
		}
	}
}

// Ctrl-C at the question ends the command.
func TestQuestionCanceled(t *testing.T) {
	p := newPerson(t, "[servers.x]\ncommand='sh'\n")
	in, writer := io.Pipe()
	defer writer.Close()
	p.in = in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := p.run(ctx, "servers", "list"); code != 130 || p.layers != "" {
		t.Errorf("exit code %d, layers %q", code, p.layers)
	}
	if found := p.discover(""); found.Ignored() == nil {
		t.Error("it is trusted")
	}
}

func TestTrustAsks(t *testing.T) {
	p := newPerson(t, "[servers.x]\nurl='http://h'\n")
	p.in = strings.NewReader("no\n")
	if code := p.run(t.Context(), "trust"); code != 5 || p.discover("").Ignored() == nil {
		t.Errorf("no: exit code %d: %s", code, p.err.String())
	}
	p.in = strings.NewReader("y\n")
	if code := p.run(t.Context(), "trust"); code != 0 || p.discover("").Ignored() != nil || !strings.Contains(p.out.String(), "connects to an address:") {
		t.Errorf("yes: exit code %d: %s%s", code, p.out.String(), p.err.String())
	}
}

// What a person decides by is all there, and nothing in it acts on the terminal,
// hides, or pretends to be another line.
func TestOffer(t *testing.T) {
	p := newPerson(t, "[servers.x]\ncommand='sh'\nargs=['-c', \"a\\n\\u001b[2J\\u202eb\\u200bc\\u00ad\", \"`id` \\\"q\\\" \\\\ é 漢\"]\n"+
		"env={A='!id', \"B\\u001b]0;x\\u0007\\u2066\"='!!x'}\ncwd='~'\nconsent='allow'\n"+
		"[servers.y]\nplugin='./p'\nconfig={n=1.0, deep=[{a='!rm'}], t={u='x'}}\nenabled=false\n"+
		"[servers.u]\ntool_exposure={'*'='direct'}\n[servers.\"\\u001b[1A\"]\ncommand='x'\n[host]\nexposure='direct'\n")
	o := offered(p.discover(""))
	got := o.text
	if o.sum != "2 servers, 1 change, 2 commands, 1 host setting" {
		t.Errorf("in all %s", o.sum)
	}
	file := filepath.Join(p.root, "repo", "mcp.toml")
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	want := file + ` is not trusted. It has:
  server u changes yours:
    tool_exposure."*" = "direct"
  server x starts a program:
    command = "sh"
    args = ["-c", "a\n\x1b[2J\u202eb\u200bc\u00ad", "` + "`id`" + ` \"q\" \\ é 漢"]
    cwd = "~"
    env.A = "!id"   (runs this command)
    env."B\u001b]0;x\u0007\u2066" = "!!x"
    exposure = "direct"
    consent = "allow"
  server y starts a plugin:
    enabled = false
    plugin = "./p"
    config.n = 1.0
    config.deep = [{"a" = "!rm"}]   (runs this command)
    config.t.u = "x"
    exposure = "direct"
  host settings
    exposure = "direct"
`
	head, faults, _ := strings.Cut(got, "  fault: ")
	if head != want {
		t.Errorf("%s\nwant\n%s", head, want)
	}
	if !strings.Contains(faults, "the name holds") || strings.Contains(faults, "\x1b") {
		t.Errorf("faults %q", faults)
	}

	p = newPerson(t, "[servers]\n")
	if got := offered(p.discover("")).text; !strings.HasSuffix(got, "It has:\n  nothing\n") {
		t.Error(got)
	}
	p = newPerson(t, "[servers.u]\ncommand='x'\ntimeout=1\n")
	if got := offered(p.discover("")).text; !strings.Contains(got, "server u is lost") {
		t.Error(got)
	}
	p = newPerson(t, "[servers.u]\ncommand='x'\n")
	if got := offered(p.discover("")).text; !strings.Contains(got, "server u replaces yours, and starts a program:") {
		t.Error(got)
	}
}

// Every value of the file is in what a person sees.
func TestOfferIsComplete(t *testing.T) {
	const text = "[servers.a]\ncommand='v1'\nargs=['v2','v3']\ncwd='v4'\nenv={v5='v6'}\ninherit_env=['v7']\ndescription='v8'\n" +
		"[servers.b]\nurl='http://v9'\nheaders={v10='v11'}\nca_file='v12'\noauth={client_id='v13',scopes=['v15']}\n" +
		"[servers.c]\nplugin='v16'\nconfig={v17='v18'}\noauth={token_command='v14'}\ntool_exposure={v19='direct'}\nconsent={v20='deny'}\nretry='always'\non_change='block'\ntimeout='7s'\n"
	if c := config.Parse("m", []byte(text)); len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	p := newPerson(t, text)
	got := offered(p.discover("")).text
	for i := range 20 {
		want := "v" + string(rune('1'+i))
		if i >= 9 {
			want = "v1" + string(rune('0'+i-9))
		}
		if i == 19 {
			want = "v20"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, want := range []string{"always", "block", "7s", "deny"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
}

type noReader struct{}

func (noReader) Read([]byte) (int, error) { return 0, errors.New("no") }

func TestConfirmReadError(t *testing.T) {
	if a, err := confirm(t.Context(), io.MultiReader(strings.NewReader("y"), noReader{}), io.Discard, "?"); a != replyNone || err != nil {
		t.Errorf("%v, %v", a, err)
	}
}

// Without a home directory there is no list of what is trusted.
func TestHomelessTrustsNothing(t *testing.T) {
	for _, args := range [][]string{{"trust"}, {"trust", "--yes"}, {"trust", "--list"}, {"trust", "--revoke"}, {"config", "path"}, {"config", "show"}, {"servers", "list"}} {
		c := command{host: &fakeHost{}, homeless: errHomeless}
		if code := c.run(t, args...); code != 3 || !strings.Contains(c.err.String(), "set HOME") {
			t.Errorf("%v: exit code %d: %s", args, code, c.err.String())
		}
	}
}
