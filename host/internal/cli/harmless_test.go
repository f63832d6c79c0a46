package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// nasty is what a stranger writes where anything can be written: clear the screen,
// write to the clipboard, turn the reading around.
const nasty = "x\x1b[2J\x1b]52;c;eA==\x07\u202e\u009b\r\x7f"

// hostile is a host whose servers, tools and plugins have nothing but nasty texts.
func hostile() *fakeHost {
	fail := failed(failure.ServerError)
	fail.Message, fail.Server, fail.Tool, fail.StderrTail, fail.Notices = nasty, nasty, nasty, []string{nasty}, []string{nasty}
	tool := host.Tool{
		Name: "s/" + nasty, WireName: nasty, Server: "s", Title: nasty, Description: nasty, Exposure: host.Codemode, Rewritten: true, Withheld: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"` + "\\u001b[2J\u202e" + `":{"type":"string","description":"\u001b[2J","enum":["\u001b[2J"]}}}`),
	}
	finding := host.Finding{Kind: host.KindUnreachable, Check: nasty, Message: nasty, Advice: nasty, File: nasty, Key: nasty}
	return &fakeHost{
		listing: host.Listing{
			Tools:   []host.Tool{tool},
			Servers: []host.Server{{Name: "s", State: "ready", Plugin: nasty, Version: nasty}, {Name: "t", State: "failed", Error: nasty, Failure: fail}},
		},
		tool: &tool,
		diagnosis: &host.Diagnosis{
			Host: host.HostDiagnosis{Version: nasty, ConfigFiles: []string{nasty}, Findings: []host.Finding{finding}, PluginDirs: []string{nasty}},
			Servers: []host.ServerDiagnosis{{
				Name: "s", State: "ready", Listed: true, Plugin: host.PluginDiagnosis{Name: nasty, Path: nasty, Version: nasty}, Findings: []host.Finding{finding},
				Upstream: &host.UpstreamDiagnosis{Name: nasty, Version: nasty, ProtocolVersion: nasty}, StderrTail: []string{nasty}, LogFile: nasty,
				Unchecked: []host.UncheckedSchema{{Tool: nasty, Schema: nasty, Reason: nasty}}, WireNames: []host.AlteredName{{Tool: nasty, WireName: nasty}},
				Rewritten: []string{nasty},
			}},
			Duration: time.Second,
		},
		plugins: []host.Plugin{
			{Name: "p", Path: nasty, Servers: []string{"s"}, State: host.PluginChanged, SHA256: "ab", Pins: []string{nasty}, Lock: nasty, Target: nasty},
			{Name: nasty, Error: nasty, Servers: []string{nasty}},
		},
		reviews: []host.ToolPins{
			{Server: "s", Lock: nasty, New: []string{nasty}, Rewritten: []string{nasty}, Missing: []string{nasty},
				Was: map[string]json.RawMessage{nasty: json.RawMessage(`{"a":"\u202e"}`)}, Is: map[string]json.RawMessage{nasty: json.RawMessage("{\"b\":\"\u202e\"}")}},
			{Server: nasty, Error: nasty, Failure: fail},
		},
		result: &host.Result{Tool: "s/t", JSON: json.RawMessage(`{"content":[{"type":"text","text":"` + strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`).Replace(nasty) + `"}]}`), Notices: []string{nasty}},
		found:  json.RawMessage(`{"tools":[{"name":"s/\u001b[2J\u202e","description":"\u001b[2J\u202e","exposure":"codemode","score":1}],"total":1,"pending":[{"server":"\u001b[2J","state":"failed"}]}`),
	}
}

// Whatever strangers write, nothing of it acts on a terminal, in any command that
// prints what they say.
func TestNothingActsOnTheTerminal(t *testing.T) {
	for _, line := range []string{
		"tools list", "tools list --json", "tools list --tokens", "tools show s/t", "tools show s/t --json", "tools call s/t", "tools call s/t --json",
		"tools search x", "tools search x --json", "servers list", "servers list --json", "doctor", "doctor --json", "doctor s",
		"plugins list", "plugins list --json", "plugins lock", "plugins lock --json", "plugins lock --check", "plugins trust s --yes", "instructions",
	} {
		for _, broken := range []bool{false, true} {
			c := &command{host: hostile(), terminal: true, environmentValue: "mcp.toml"}
			if broken {
				c.host.err = c.host.listing.Servers[1].Failure
				c.host.tool = nil
			}
			c.run(t, strings.Fields(line)...)
			if c.out.Len()+c.err.Len() == 0 {
				t.Errorf("%s: nothing was printed", line)
			}
			for name, text := range map[string]string{"stdout": c.out.String(), "stderr": c.err.String()} {
				if i := strings.IndexAny(text, "\x1b\x07\u202e\u009b\r\x7f"); i >= 0 {
					t.Errorf("%s: %s has %q", line, name, text[max(0, i-20):min(len(text), i+20)])
				}
			}
		}
	}
}
