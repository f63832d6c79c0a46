package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/sdk/failure"
)

// fakeHost answers what a test puts in.
type fakeHost struct {
	problems  []host.Problem
	listing   host.Listing
	hookLogs  []host.HookLog
	tool      *host.Tool
	result    *host.Result
	diagnosis *host.Diagnosis
	plugins   []host.Plugin
	reviews   []host.ToolPins
	err       error

	request host.Request
	called  bool
	closed  bool

	subscribed func(host.Event)

	searched host.SearchQuery
	found    json.RawMessage
}

func (h *fakeHost) Login(context.Context, string, host.Browser) (host.CredentialStatus, error) {
	return host.CredentialStatus{}, h.err
}
func (h *fakeHost) Logout(context.Context, string) error { return h.err }
func (h *fakeHost) Credential(context.Context, string) (host.Credential, error) {
	return host.Credential{}, h.err
}

func (h *fakeHost) Problems() []host.Problem { return h.problems }
func (h *fakeHost) Servers() []host.Server   { return h.listing.Servers }
func (h *fakeHost) HookLogs() []host.HookLog { return h.hookLogs }
func (h *fakeHost) Tools(context.Context, host.Query) (*host.Listing, error) {
	return &h.listing, h.err
}
func (h *fakeHost) Known(context.Context, string) (*host.Tool, time.Time) { return nil, time.Time{} }
func (h *fakeHost) Tool(context.Context, string) (*host.Tool, error) {
	if h.tool == nil {
		return nil, h.err
	}
	return h.tool, nil
}
func (h *fakeHost) Run(context.Context, host.ScriptRequest) (host.ScriptOutcome, error) {
	return host.ScriptOutcome{}, errors.New("nothing runs here")
}

func (h *fakeHost) Call(_ context.Context, req host.Request) (*host.Result, error) {
	h.request, h.called = req, true
	return h.result, h.err
}
func (h *fakeHost) Diagnose(context.Context, host.DiagnoseQuery) (*host.Diagnosis, error) {
	return h.diagnosis, h.err
}
func (h *fakeHost) ReviewTools(context.Context, []string, time.Duration) ([]host.ToolPins, error) {
	return h.reviews, h.err
}
func (h *fakeHost) AcceptPlugin(context.Context, *host.Plugin) error            { return h.err }
func (h *fakeHost) AcceptTools(context.Context, *host.ToolPins, []string) error { return h.err }
func (h *fakeHost) ForgetTools(context.Context, *host.ToolPins, []string) error { return h.err }
func (h *fakeHost) Plugins(context.Context) ([]host.Plugin, error)              { return h.plugins, h.err }
func (h *fakeHost) Close() error                                                { h.closed = true; return nil }

// command is one run of the command line on a fake host.
type command struct {
	host             *fakeHost
	stdin            string
	terminal         bool
	out, err         bytes.Buffer
	outBroken        error
	homeless         error
	options          host.Options
	environmentValue string
}

func (c *command) run(t *testing.T, args ...string) int {
	t.Helper()
	streams := &terminal.Streams{In: strings.NewReader(c.stdin), Out: &c.out, Err: &c.err}
	if c.outBroken != nil {
		streams.Out = broken{c.outBroken}
	}
	if c.terminal {
		streams.OutTerminal, streams.ErrTerminal, streams.Width = true, true, 60
	}
	getenv := configIn(c.environmentValue)
	f := New(streams, getenv, "test")
	f.homeless = c.homeless
	f.Open = func(_ context.Context, opt host.Options) (openHost, error) {
		c.options = opt
		return c.host, nil
	}
	empty := t.TempDir()
	f.Discover = func(string) *host.Discovery {
		return host.Discover(host.Places{UserFile: empty + "/mcp.toml", Dir: empty, StateDir: empty})
	}
	code := f.Run(t.Context(), args)
	if c.options.ConfigFiles != nil && !c.host.closed {
		t.Error("the host was left open")
	}
	return code
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func failed(class failure.Class) *host.Failure {
	return &host.Failure{Failure: *failure.New(class, failure.NotSent, "it went wrong"), Server: "s", Tool: "t"}
}

func (*fakeHost) Front() frontend { return nil }

func (h *fakeHost) Search(_ context.Context, q host.SearchQuery) (json.RawMessage, error) {
	h.searched = q
	return h.found, nil
}

func (*fakeHost) Instructions() string { return "told\x1b\n" }

// Prompt costs a token a server, and ten with everything direct.
func (*fakeHost) Prompt(e host.Exposure, servers []string) host.Prompt {
	n := len(servers)
	if e == host.Direct {
		n *= 10
	}
	return host.Prompt{Instructions: strings.Repeat("x", 4*n)}
}

func (h *fakeHost) Definitions([]string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, t := range h.listing.Tools {
		all[t.Name] = t.Definition
	}
	return all
}

func (*fakeHost) Handler(host.HTTPOptions) (endpoint, error) { return nil, errors.New("not served") }

func (h *fakeHost) Subscribe(f func(host.Event)) func() {
	h.subscribed = f
	return func() {}
}

// configIn is an environment that names a configuration, and nothing else.
func configIn(file string) func(string) string {
	return func(variable string) string {
		if variable == "COLLET_CONFIG" {
			return file
		}
		return ""
	}
}
