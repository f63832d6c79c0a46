package host_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// Servers that nobody here wrote, from mcp.toml to a call: context7 and the
// official Go SDK's over stdio and over HTTP, the reference server over both
// transports of HTTP. Between them they speak every revision and every transport.
func TestStrangersServers(t *testing.T) {
	npm := npmDir(t)
	everything, conformance := npm+"/@modelcontextprotocol/server-everything/dist/index.js", goSDKServer(t, "everything-server")
	context7 := npm + "/@upstash/context7-mcp/dist/index.js"
	// What context7 asks for documentation; it must not ask the real one here.
	library := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "the library's word on %s of %s", r.FormValue("query"), r.FormValue("libraryId"))
	}))
	defer library.Close()
	quiet := []string{"OTEL_SDK_DISABLED=true", "CONTEXT7_API_URL=" + library.URL}

	urls := map[string]string{}
	var programs []*program
	start := func(name, path string, command func(addr, port string) *exec.Cmd) {
		addr, port := freeAddr(t)
		cmd := command(addr, port)
		cmd.Env = append(append(os.Environ(), quiet...), "PORT="+port)
		programs = append(programs, startProgram(t, addr, cmd))
		urls[name] = "http://" + addr + path
	}
	node := func(args ...string) func(addr, port string) *exec.Cmd {
		return func(_, port string) *exec.Cmd {
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "PORT", port)
			}
			return exec.Command("node", args...)
		}
	}
	at := func(path string, args ...string) func(addr, port string) *exec.Cmd {
		return func(addr, port string) *exec.Cmd {
			for i := range args {
				args[i] = strings.NewReplacer("ADDR", addr, "PORT", port).Replace(args[i])
			}
			return exec.Command(path, args...)
		}
	}
	start("context7-http", "/mcp", node(context7, "--transport", "http", "--port", "PORT"))
	start("everything-http", "/mcp", node(everything, "streamableHttp"))
	start("everything-sse", "/sse", node(everything, "sse"))
	start("go-http", "/mcp", at(conformance, "-http", "ADDR"))
	start("go-sessions", "/mcp", at(conformance, "-http", "ADDR", "-stateless=false"))
	start("go-memory", "/", at(goSDKServer(t, "memory"), "-http", "ADDR"))
	start("go-sse", "/greeter1", at(goSDKServer(t, "sse"), "-host", "127.0.0.1", "-port", "PORT"))

	config := `
[servers.context7]
command = "node"
args = ["${CONTEXT7}"]
[servers.go]
command = "${CONFORMANCE}"
`
	for name, url := range urls {
		config += fmt.Sprintf("[servers.%s]\nurl = %q\n", name, url)
	}
	opt := options(t, config)
	opt.Environ = append(append(opt.Environ, quiet...), "CONTEXT7="+context7, "CONFORMANCE="+conformance)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, p := range programs {
		p.await()
	}

	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Servers) != len(urls)+2 {
		t.Errorf("%d servers, want %d", len(list.Servers), len(urls)+2)
	}
	for _, s := range list.Servers {
		if s.State != "ready" || s.Error != "" {
			t.Errorf("%s is %s: %s", s.Name, s.State, s.Error)
		}
	}
	tools := map[string]int{}
	for _, x := range list.Tools {
		tools[x.Server]++
		if x.Unchecked() != "" {
			t.Errorf("%s is unchecked: %s", x.Name, x.Unchecked())
		}
	}
	const ask, answer = `{"libraryId":"/a/b","query":"<hooks> & more"}`, "the library's word on <hooks> & more of /a/b"
	for _, c := range []struct {
		server     string
		tools      int
		tool, args string
		says       string
	}{
		{"context7", 2, "query-docs", ask, answer},
		{"context7-http", 2, "query-docs", ask, answer},
		{"everything-http", 13, "get-sum", `{"a":2,"b":40}`, "is 42"},
		{"everything-sse", 13, "get-sum", `{"a":2,"b":40}`, "is 42"},
		{"go", 25, "test_simple_text", `{}`, "simple text"},
		{"go-http", 25, "test_simple_text", `{}`, "simple text"},
		{"go-sessions", 25, "test_simple_text", `{}`, "simple text"},
		{"go-memory", 9, "read_graph", `{}`, "Graph read"},
		{"go-sse", 1, "greet1", `{"name":"<you> & me"}`, "Hi <you> & me"},
	} {
		t.Run(c.server, func(t *testing.T) {
			if tools[c.server] < c.tools {
				t.Errorf("%d tools, want %d", tools[c.server], c.tools)
			}
			res := mustCall(t, h, c.server+"/"+c.tool, c.args)
			text := gjson.GetBytes(res.JSON, "content.0.text").String()
			if res.IsError || !strings.Contains(text, c.says) {
				t.Errorf("%s: %s", c.tool, res.JSON)
			}
		})
	}

	// Progress is the oldest transport's too.
	for _, server := range []string{"everything-http", "everything-sse"} {
		var total float64
		_, err := h.Call(patient(t), host.Request{
			Tool: server + "/trigger-long-running-operation", Arguments: []byte(`{"duration":0.2,"steps":4}`),
			OnProgress: func(p host.Progress) { total = p.Total },
		})
		if err != nil || total != 4 {
			t.Errorf("%s: long operation: %v, %v steps", server, err, total)
		}
	}
}

// Over the transport of 2024-11-05 the stream is the connection: it comes back with
// the first call that gets through.
func TestOldTransportComesBack(t *testing.T) {
	path := goSDKServer(t, "sse")
	addr, port := freeAddr(t)
	start := func() *program {
		p := startProgram(t, addr, exec.Command(path, "-host", "127.0.0.1", "-port", port))
		p.await()
		return p
	}
	p := start()
	h := openURL(t, "http://"+addr+"/greeter2", `retry = "never"`)
	call := host.Request{Tool: "h/greet2", Arguments: []byte(`{"name":"you"}`)}
	for range 6 { // more often than a server may end that has to be started
		mustCall(t, h, call.Tool, string(call.Arguments))
		p.stop()
		eventually(t, h, "degraded", inState(h, "degraded"))
		if f := mustFail(t, h, call); f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent || !strings.Contains(f.Message, addr) {
			t.Errorf("failure %s, %s: %v", f.Class, f.Delivery, f)
		}
		p = start()
	}
	mustCall(t, h, call.Tool, string(call.Arguments))
	eventually(t, h, "ready", inState(h, "ready"))
}
