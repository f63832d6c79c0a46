package host_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// face serves a host over HTTP and returns a client of it.
func face(t *testing.T, toml string, opt mcp.Options) *mcp.Client {
	t.Helper()
	return faceOf(t, open(t, toml), opt)
}

func faceOf(t *testing.T, h *host.Host, opt mcp.Options) *mcp.Client {
	t.Helper()
	f := h.Front()
	web := httptest.NewServer(f.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: web.URL}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}

const exposures = `
[servers.n]
command = "${BUILT}/faultserver"
exposure = "deferred"
description = "a server for tests"
[servers.n.tool_exposure]
"echo" = "direct"
"raw" = "codemode"
"x_env" = "hidden"
[servers.dead]
command = "${BUILT}/no-such-file"
exposure = "direct"
`

func TestFrontExposure(t *testing.T) {
	c := face(t, exposures, mcp.Options{})
	tools, err := c.ListTools(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, gjson.GetBytes(tool, "name").String())
	}
	if got := strings.Join(names, " "); got != "n__echo tool_search tool_call codemode result_read" {
		t.Fatalf("listed: %s", got)
	}
	// Every byte of a definition but its name is the server's own.
	if want := `"_meta":{"com.example/n":9007199254740993},"x":1.0}`; !strings.HasSuffix(string(tools[0]), want) {
		t.Errorf("the definition is %s", tools[0])
	}
	for _, call := range []struct{ tool, args, want string }{
		{"n__echo", `{"text":"hi"}`, `"hi"`},
		{"tool_call", `{"name":"n/t_sleep","arguments":{"ms":1}}`, `"slept"`},
		{"tool_call", `{"name":"n__echo","arguments":{"text":"by its wire name"}}`, `"by its wire name"`},
		{"n__t_sleep", `{"ms":1}`, `call it with the tool tool_call`},
		{"tool_call", `{"name":"n/raw"}`, `codemode`},
		{"tool_call", `{"name":"n/x_env"}`, `no tool is called n/x_env`},
		{"tool_call", `{"name":"n/x_nev"}`, `no tool is called n/x_nev`},
		{"tool_call", `{"name":"n/t_slepe"}`, `did you mean n/t_sleep? tool_search finds others`},
		{"tool_call", `{"name":"tool_search","arguments":{"query":"raw"}}`, `tool_search is in the list of tools: call it by itself`},
		{"tool_call", `{}`, `name is missing`},
		{"tool_search", `{"query":"raw"}`, `"name":"n/raw"`},
		{"tool_search", `{"query":"raw"}`, `"pending":[{"server":"dead"`},
		{"tool_search", `{"query":"x_env"}`, `"total":`},
	} {
		raw, err := c.CallTool(patient(t), call.tool, json.RawMessage(call.args), mcp.RequestOptions{})
		if err != nil || !strings.Contains(string(raw), call.want) {
			t.Errorf("%s %s: %s %v, want %s", call.tool, call.args, raw, err, call.want)
		}
		if strings.Contains(string(raw), `"name":"n/x_env"`) {
			t.Errorf("%s %s shows a hidden tool: %s", call.tool, call.args, raw)
		}
	}
	for _, unknown := range []string{"n__x_env", "n__nothing", "dead__echo"} {
		_, err := c.CallTool(patient(t), unknown, nil, mcp.RequestOptions{})
		if f, ok := err.(*failure.Failure); !ok || f.UpstreamCode != -32602 {
			t.Errorf("%s: %v", unknown, err)
		}
	}
	if in := c.Server().Instructions; !strings.Contains(in, "- n") || !strings.Contains(in, "a server for tests") {
		t.Errorf("instructions: %q", in)
	}
}

func TestFrontListIsStable(t *testing.T) {
	for _, opt := range []mcp.Options{{}, {SkipProbe: true}} {
		c := face(t, exposures, opt)
		list := func() string {
			raw, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		first := list()
		if _, err := c.CallTool(patient(t), "tool_search", json.RawMessage(`{"query":"sleep"}`), mcp.RequestOptions{}); err != nil {
			t.Fatal(err)
		}
		if again := list(); again != first {
			t.Errorf("after a search the list is\n%s\nand was\n%s", again, first)
		}
	}
}

func TestFrontTellsOfChanges(t *testing.T) {
	changed := make(chan struct{}, 1)
	c := face(t, strings.Replace(exposures, `"echo"`, `"x_*" = "direct"`+"\n"+`"echo"`, 1), mcp.Options{
		OnNotification: func(method string, _ json.RawMessage) {
			if method == "notifications/tools/list_changed" {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		},
	})
	if _, err := c.ListTools(patient(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(patient(t), "n__x_grow", nil, mcp.RequestOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-patient(t).Done():
		t.Fatal("no list_changed")
	}
	tools, err := c.ListTools(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if gjson.GetBytes(tool, "name").String() == "n__x_grown" {
			return
		}
	}
	t.Error("the new tool is not listed")
}

// A server that comes with a change of the configuration is started without being
// asked for, and its tools are told.
func TestFrontStartsWhatIsAdded(t *testing.T) {
	w := watch(t, "[servers.a]\nplugin = \"hello\"\nexposure = \"direct\"\n")
	changed := make(chan string, 1000)
	c := faceOf(t, w.Host, mcp.Options{OnNotification: func(method string, _ json.RawMessage) { changed <- method }})
	listed := func() string {
		tools, err := c.ListTools(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, gjson.GetBytes(tool, "name").String())
		}
		return strings.Join(names, " ")
	}
	if got := listed(); got != "a__greet result_read" {
		t.Fatalf("listed: %s", got)
	}
	for _, step := range []struct{ toml, want string }{
		{"[servers.a]\nplugin = \"hello\"\nexposure = \"direct\"\n[servers.b]\nplugin = \"hello\"\nexposure = \"direct\"\n", "a__greet b__greet result_read"},
		{"[servers.b]\nplugin = \"hello\"\nexposure = \"direct\"\n", "b__greet result_read"},
	} {
		w.reload(t, step.toml)
		for got := listed(); got != step.want; got = listed() {
			await(t, changed, "notifications/tools/list_changed")
		}
	}
}

func TestFrontOverStdio(t *testing.T) {
	f := open(t, exposures).Front()
	in, send := io.Pipe()
	receive, out := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.ServeStdio(t.Context(), in, out); err != nil {
			t.Error(err)
		}
		out.Close()
	})
	answers := json.NewDecoder(receive)
	ask := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(send, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var raw json.RawMessage
		if err := answers.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); !strings.Contains(got, `"name":"collet"`) {
		t.Error(got)
	}
	got := ask(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"n__echo","arguments":{"text":"x"}}}`)
	if want := `{"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[{"type":"text","text":"x"}]}}`; got != want {
		t.Errorf("got %s", got)
	}
	send.Close()
	wg.Wait()
	if err := f.Close(patient(t)); err != nil {
		t.Error(err)
	}
}
