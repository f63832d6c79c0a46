package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pluginPath is this plugin, built once.
var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) }

// plugin is one process of this plugin, as a host has it, on a machine with that home
// directory.
type plugin struct {
	*adaptertest.Plugin
	home string
}

// machine is a machine of its own: an empty home directory, and a PATH with nothing on
// it but the fake under these names.
func machine(t *testing.T, programs ...string) *plugin {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for _, name := range programs {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), "./internal/fakeworkiq")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the fake: %v\n%s", err, out)
		}
	}
	p := &plugin{home: home}
	p.Plugin = adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: []string{"PATH=" + bin, "HOME=" + home, "USERPROFILE=" + home}})
	return p
}

// accepted is one on which a person has accepted the licence, and said so in the config.
func accepted(t *testing.T) *plugin {
	t.Helper()
	p := machine(t, "workiq")
	p.lay(t, "eula", "")
	if err := p.Settings(t, config{AcceptEULA: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

// lay puts a file where the fake looks for it.
func (p *plugin) lay(t *testing.T, name, contents string) {
	t.Helper()
	dir := filepath.Join(p.home, ".work-iq-cli")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says has the fake answer the next call with a text.
func (p *plugin) says(t *testing.T, text string, isError bool) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "isError": isError})
	if err != nil {
		t.Fatal(err)
	}
	p.lay(t, "next", string(raw)+"\n")
}

// told are the starts of the fake, and the calls it got.
func (p *plugin) told(t *testing.T) (starts, calls []string) {
	t.Helper()
	all, err := os.ReadFile(filepath.Join(p.home, ".work-iq-cli", "told.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		l := gjson.Parse(line)
		if s := l.Get("started"); s.Exists() {
			starts = append(starts, s.Raw)
		} else {
			calls = append(calls, l.Get("tool").Str+" "+l.Get("arguments").Raw)
		}
	}
	return starts, calls
}

func (p *plugin) tools(t *testing.T) (map[string]*adapterpb.Tool, error) {
	t.Helper()
	resp, err := p.ListTools(adaptertest.Within(t), &adapterpb.ListToolsRequest{})
	if err != nil {
		return nil, failure.FromStatus(err)
	}
	tools := map[string]*adapterpb.Tool{}
	for _, tool := range resp.GetTools() {
		tools[tool.GetName()] = tool
	}
	return tools, nil
}

func (p *plugin) call(t *testing.T, tool, args string) (gjson.Result, error) {
	t.Helper()
	result, _, err := p.Call(t, tool, args)
	return gjson.ParseBytes(result), err
}

func wantFailure(t *testing.T, err error, class failure.Class, delivery failure.Delivery, holds string) *failure.Failure {
	t.Helper()
	f, ok := err.(*failure.Failure)
	if !ok || f.Class != class || f.Delivery != delivery || !strings.Contains(f.Message, holds) || strings.Contains(f.Message, "\n") {
		t.Fatalf("%+v; want %s, %s and on one line %q", err, class, delivery, holds)
	}
	return f
}

// A question may take its time, and so may a first start.
func TestTimes(t *testing.T) {
	t.Parallel()
	resp, err := machine(t).Describe(adaptertest.Within(t), &adapterpb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if call, start := resp.GetDefaultTimeout().AsDuration(), resp.GetDefaultStartTimeout().AsDuration(); call != 300*time.Second || start != 180*time.Second {
		t.Errorf("a call has %s, a start %s", call, start)
	}
}

// Nothing is started or downloaded before a person has said so, whatever is installed.
func TestNothingStartsUnaccepted(t *testing.T) {
	t.Parallel()
	p := machine(t, "workiq", "npx")
	wantFailure(t, p.Settings(t, config{}), failure.ConsentRequired, failure.NotSent, "config = { accept_eula = true }")
	if _, err := os.Stat(filepath.Join(p.home, ".work-iq-cli")); !os.IsNotExist(err) {
		t.Error("something was started")
	}
}

func TestNotInstalled(t *testing.T) {
	t.Parallel()
	p := machine(t)
	if err := p.Settings(t, config{AcceptEULA: true}); err != nil {
		t.Fatal(err)
	}
	_, err := p.tools(t)
	wantFailure(t, err, failure.ConnectionRefused, failure.NotSent, "Work IQ is not installed: neither workiq nor npx is on the PATH")
}

// What is installed is started before npx is, and npx with the pinned version.
func TestWhatIsStarted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		programs []string
		want     string
	}{
		{[]string{"npx", "workiq"}, `["workiq","mcp"]`},
		{[]string{"npx"}, `["npx","-y","@microsoft/workiq@1.0.0","mcp"]`},
	} {
		p := machine(t, c.programs...)
		if err := p.Settings(t, config{AcceptEULA: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.tools(t); err != nil {
			t.Fatal(err)
		}
		if starts, _ := p.told(t); len(starts) != 1 || strings.ReplaceAll(starts[0], ".exe", "") != c.want {
			t.Errorf("with %v on the PATH, started %v", c.programs, starts)
		}
	}
}

// The licence is accepted by the adapter when the server wants it, once, and only
// where a person has said so.
func TestLicence(t *testing.T) {
	t.Parallel()
	p := machine(t, "workiq")
	if err := p.Settings(t, config{AcceptEULA: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.tools(t); err != nil {
		t.Fatal(err)
	}
	if _, calls := p.told(t); len(calls) != 0 {
		t.Errorf("a list called %v", calls)
	}
	for range 2 {
		if got, err := p.call(t, "ask", `{"question":"who?"}`); err != nil || got.Get("structuredContent.answer").Str != "You asked: who?" {
			t.Fatalf("ask: %s, %v", got.Raw, err)
		}
	}
	ask := `ask {"question":"who?"}`
	if _, calls := p.told(t); !slices.Equal(calls, []string{ask, `accept_eula {"eulaUrl":"https://github.com/microsoft/work-iq"}`, ask, ask}) {
		t.Errorf("called %q", calls)
	}

	p = machine(t, "workiq")
	if err := p.Settings(t, config{Command: []string{"workiq", "mcp"}}); err != nil {
		t.Fatal(err)
	}
	_, err := p.call(t, "ask", `{"question":"who?"}`)
	wantFailure(t, err, failure.ConsentRequired, failure.NotSent, `run "workiq accept-eula" yourself`)
	_, err = p.call(t, "accept_eula", `{"eulaUrl":"https://github.com/microsoft/work-iq"}`)
	wantFailure(t, err, failure.NotFound, failure.NotSent, "accept_eula is not offered")
	if _, calls := p.told(t); !slices.Equal(calls, []string{ask}) {
		t.Errorf("called %q", calls)
	}
}

// Only what reads is offered, and with a person's consent; what writes is refused also
// when it is called by name. Nothing but tools is passed on.
func TestOffered(t *testing.T) {
	t.Parallel()
	p := machine(t, "workiq")
	p.lay(t, "eula", "")
	p.lay(t, "signed-in", "")
	p.lay(t, "noise", "dbug: Microsoft.WorkIQ.Auth.InteractiveAuthProvider[0]\n      Starting authentication flow")
	if err := p.Settings(t, config{AcceptEULA: true}); err != nil {
		t.Fatal(err)
	}
	tools, err := p.tools(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, reads := range map[string]bool{"ask": false, "list_agents": true, "fetch": true, "search_paths": true, "get_schema": true} {
		tool := tools[name]
		if tool == nil || !tool.GetAsksConsent() || tool.ReadOnly == nil || tool.GetReadOnly() != reads || tool.GetIdempotent() != reads {
			t.Errorf("%s is offered as %v", name, tool)
		}
		delete(tools, name)
	}
	for name := range tools {
		t.Errorf("%s is offered", name)
	}
	for _, name := range []string{"create_entity", "update_entity", "delete_entity", "do_action", "call_function", "fetch_blob", "anything"} {
		_, err := p.call(t, name, `{"path":"/me/messages"}`)
		wantFailure(t, err, failure.NotFound, failure.NotSent, name+" is not offered")
	}
	if _, calls := p.told(t); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
	stream, err := p.Forward(adaptertest.Within(t), &adapterpb.ForwardRequest{Method: "resources/list"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := stream.Recv(); err == nil {
		t.Errorf("resources are passed on: %v", got)
	}
}
