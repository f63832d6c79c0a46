package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/sdk/mcp"
)

const codemodeServers = `
[servers.n]
command = "${BUILT}/faultserver"
[servers.n.tool_exposure]
"x_env" = "hidden"
[servers.m]
command = "${BUILT}/faultserver"
`

// eras are the clients of both.
var eras = map[string]mcp.Options{"modern": {}, "legacy": {SkipProbe: true}}

// codemodeArguments are those of a script; more are further members.
func codemodeArguments(code string, more ...string) json.RawMessage {
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		panic(err)
	}
	for _, m := range more {
		args = append(args[:len(args)-1], ","+m+"}"...)
	}
	return args
}

// script runs a script through the codemode tool of a front, and holds what it answers
// against the schema that the tool is listed with.
func script(t *testing.T, c *mcp.Client, code string, more ...string) gjson.Result {
	t.Helper()
	raw, err := c.CallTool(patient(t), "codemode", codemodeArguments(code, more...), mcp.RequestOptions{})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	r := gjson.ParseBytes(raw)
	var schemas schema.Cache
	declared := schemas.Compile(json.RawMessage(listed(t, c, "codemode").Get("outputSchema").Raw))
	if why := declared.Unchecked(); why != "" {
		t.Fatal(why)
	}
	if problems := declared.Validate(json.RawMessage(r.Get("structuredContent").Raw)); len(problems) > 0 {
		t.Errorf("%s\nbreaks the output schema: %v", r.Get("structuredContent"), problems)
	}
	if failed := r.Get("structuredContent.status").String() == "failed"; failed != r.Get("isError").Bool() {
		t.Errorf("isError does not say how it went: %s", r)
	}
	return r.Get("@this")
}

// listed is a tool's definition in a client's list.
func listed(t *testing.T, c *mcp.Client, tool string) (definition gjson.Result) {
	t.Helper()
	tools, err := c.ListTools(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range tools {
		if d := gjson.ParseBytes(raw); d.Get("name").String() == tool {
			definition = d
		}
	}
	return definition
}

// gives fails the test when the script does not return this JSON.
func gives(t *testing.T, c *mcp.Client, code, want string) {
	t.Helper()
	r := script(t, c, code)
	if got := r.Get("structuredContent.value").Raw; got != want {
		t.Errorf("%s\nreturned %s, want %s\n%s", code, got, want, r.Get("structuredContent.error"))
	}
}

// A script runs in one call; its outcome is there as text and as an object.
func TestCodemode(t *testing.T) {
	t.Parallel()
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			c := face(t, codemodeServers, opt)
			r := script(t, c, "```js\nconst said = await Promise.all([tools.n.echo({text: 'a'}), tools.m.echo({text: 'b'})]);\ntext(said);\nimage({type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png'});\nconsole.log('x');\nreturn said.length\n```")
			if r.Get("structuredContent.value").Raw != "2" || r.Get("structuredContent.calls.#").Int() != 2 || r.Get("structuredContent.console.0.text").String() != "x" {
				t.Errorf("%s", r)
			}
			if head := r.Get("content.0.text").String(); !strings.HasPrefix(head, "Script completed in ") || !strings.Contains(head, ", 2 calls\n") {
				t.Errorf("it begins with %q", head)
			}
			if got := r.Get("content.#.type").Raw; got != `["text","image","text"]` {
				t.Errorf("the blocks are %s", got)
			}
			r = script(t, c, "const x = 1;\nthrow new Error('no' + x)")
			if e := r.Get("structuredContent.error"); e.Get("kind").String() != "script" || e.Get("line").Int() != 2 || e.Get("message").String() != "no1" {
				t.Errorf("%s", r)
			}
			if !strings.HasPrefix(r.Get("content.0.text").String(), "Script failed in ") {
				t.Errorf("%s", r)
			}
			for code, kind := range map[string]string{
				"return 1 +": "syntax", "await new Promise(() => {})": "stalled", "for (;;) ;": "timeout",
				"const a = []; for (;;) a.push(new Array(1e5).fill(1))": "memory", "await tools.n.c_error({})": "script",
			} {
				limit := `"timeout_ms":50000` // far more than it takes, on a busy machine too
				if kind == "timeout" {
					limit = `"timeout_ms":1000`
				}
				r := script(t, c, code, limit)
				if got := r.Get("structuredContent.error.kind").String(); got != kind {
					t.Errorf("%s: %s, want %s", code, r, kind)
				}
			}
			gives(t, c, `return ["x_env" in tools.n, await call("n/x_env").catch((e) => e.code)]`, `[false,"not_found"]`)
		})
	}
}

// Arguments that are wrong are told as an outcome, and nothing is run.
func TestCodemodeArguments(t *testing.T) {
	t.Parallel()
	c := face(t, codemodeServers, mcp.Options{})
	for args, says := range map[string]string{
		`{}`:                                  "code is missing",
		`{"code":1}`:                          "code is missing",
		`{"code":"return 1","timeout_ms":99}`: "timeout_ms is a whole number from 100 to 600000",
		`{"code":"return 1","timeout_ms":600001}`:           "timeout_ms is a whole number",
		`{"code":"return 1","timeout_ms":"1000"}`:           "timeout_ms is a whole number",
		`{"code":"return 1","timeout_ms":1e300}`:            "timeout_ms is a whole number",
		`{"code":"return 1","max_output_tokens":99}`:        "max_output_tokens is a whole number from 100 to 50000",
		`{"code":"return 1","max_output_tokens":100.5}`:     "max_output_tokens is a whole number",
		`{"code":"return 1","timeout":1000}`:                `there is no argument "timeout"`,
		`{"code":"return 1","timeout_ms":1000,"server":""}`: `there is no argument "server"`,
	} {
		raw, err := c.CallTool(patient(t), "codemode", json.RawMessage(args), mcp.RequestOptions{})
		e := gjson.GetBytes(raw, "structuredContent.error")
		if err != nil || e.Get("kind").String() != "arguments" || !strings.Contains(e.Get("message").String(), says) || !gjson.GetBytes(raw, "isError").Bool() {
			t.Errorf("%s: %s %v", args, raw, err)
		}
	}
	// As clients write what they leave open.
	raw, err := c.CallTool(patient(t), "codemode", json.RawMessage(`{"code":"return 1","timeout_ms":null}`), mcp.RequestOptions{})
	if err != nil || gjson.GetBytes(raw, "structuredContent.value").Raw != "1" {
		t.Errorf("%s %v", raw, err)
	}
}

// What is too long keeps its ends, and all of it is there for whoever made it.
func TestCodemodeOutputIsKept(t *testing.T) {
	t.Parallel()
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			c := face(t, codemodeServers, opt)
			r := script(t, c, `for (let i = 1; i <= 1900; i++) text("line " + i); return {rows: [1, 2, 3].map((id) => ({id, big: "x".repeat(5000)}))}`, `"max_output_tokens":1000`)
			cut := r.Get("structuredContent.truncated")
			text := r.Get("content.0.text").String()
			if len(text) > 5000 || !strings.Contains(text, "line 1\nline 2\n") || !strings.Contains(text, "result_read") || cut.Get("bytes").Int() < 30_000 || r.Get("isError").Bool() {
				t.Errorf("%s\n%.5000s", cut, text)
			}
			read := func(args string) gjson.Result {
				t.Helper()
				raw, err := c.CallTool(patient(t), "result_read", json.RawMessage(fmt.Sprintf(`{"handle":%q,%s}`, cut.Get("resource").String(), args)), mcp.RequestOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return gjson.GetBytes(raw, "structuredContent")
			}
			if got := read(`"lines":"1500-1501"`).Get("data").String(); got != "line 1500\nline 1501\n" {
				t.Errorf("in the middle is %q", got)
			}
			if got := read(`"path":"structuredContent.value.rows.#.id"`).Get("data").String(); got != "[1,2,3]" {
				t.Errorf("the ids are %q", got)
			}
		})
	}
}

// What scripts store lasts as long as the session, where there is one, and is written
// only by scripts that succeed.
func TestCodemodeStores(t *testing.T) {
	t.Parallel()
	url := guarded(t, open(t, codemodeServers))
	dial := func(opt mcp.Options) *mcp.Client {
		t.Helper()
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	a, b, modern, again := dial(eras["legacy"]), dial(eras["legacy"]), dial(eras["modern"]), dial(eras["modern"])
	gives(t, a, `store("k", {of: "a"}); return load("k")`, `{"of":"a"}`)
	script(t, a, `store("k", "lost"); throw 1`)
	gives(t, a, `return load("k")`, `{"of":"a"}`)
	gives(t, b, `return load("k") === undefined`, `true`)
	gives(t, modern, `return load("k") === undefined`, `true`)
	gives(t, modern, `store("k", 7)`, ``)
	gives(t, again, `return load("k")`, `7`)
	gives(t, b, `return load("k") === undefined`, `true`)
}

// Who gives a script up ends it, and the calls it has made, at their servers.
func TestCodemodeIsCanceled(t *testing.T) {
	t.Parallel()
	for era, opt := range eras {
		for _, how := range []string{"canceled", "gone"} {
			t.Run(era+"/"+how, func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "log")
				h := open(t, fmt.Sprintf("[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-log\", %q]\n", log))
				ended := make(chan host.CallEvent, 10)
				defer h.Subscribe(func(e host.Event) {
					if e.CallFinished != nil {
						ended <- *e.CallFinished
					}
				})()
				c := faceOf(t, h, opt)
				ctx, cancel := context.WithCancel(patient(t))
				running := make(chan struct{})
				var once sync.Once
				result := make(chan error, 1)
				go func() {
					_, err := c.CallTool(ctx, "codemode", codemodeArguments(`await tools.n.t_progress_forever({})`), mcp.RequestOptions{
						OnProgress: func(p mcp.Progress) {
							if strings.Contains(p.Message, "n/t_progress_forever") {
								once.Do(func() { close(running) })
							}
						},
					})
					result <- err
				}()
				<-running
				if how == "canceled" {
					cancel()
				} else {
					c.Close(ctx)
				}
				if err := <-result; err == nil {
					t.Error("it has a result")
				}
				cancel()
				awaitCanceled(t, log, "t_progress_forever", false)
				inner, outer := <-ended, <-ended
				if inner.Tool != "t_progress_forever" || outer.Tool != "codemode" || inner.Parent != outer.ID || !outer.IsError {
					t.Errorf("told of %+v in %+v", inner, outer)
				}
			})
		}
	}
}

// The calls of a script are recorded as parts of it, and its progress is theirs.
func TestCodemodeIsFollowed(t *testing.T) {
	t.Parallel()
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			h := open(t, codemodeServers)
			var mu sync.Mutex
			var told []host.CallEvent
			defer h.Subscribe(func(e host.Event) {
				if e.CallFinished != nil {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, *e.CallFinished)
				}
			})()
			c := faceOf(t, h, opt)
			var progress []mcp.Progress
			_, err := c.CallTool(patient(t), "codemode", codemodeArguments(`await tools.n.echo({text: "x"}); await Promise.all([tools.n.t_progress({ms: 600, step: 200}), tools.m.t_sleep({ms: 500})])`),
				mcp.RequestOptions{OnProgress: func(p mcp.Progress) { progress = append(progress, p) }})
			if err != nil {
				t.Fatal(err)
			}
			var messages []string
			for i, p := range progress {
				messages = append(messages, p.Message)
				if i > 0 && p.Done <= progress[i-1].Done {
					t.Errorf("progress does not grow: %+v", progress)
				}
			}
			if all := strings.Join(messages, "\n"); !strings.Contains(all, "3 calls made, 2 in flight") || !strings.Contains(all, "n/t_progress: ") {
				t.Errorf("told %q", messages)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(told) != 4 {
				t.Fatalf("told of %+v", told)
			}
			whole := told[3]
			if whole.Tool != "codemode" || whole.Server != "" || whole.Caller != host.Model || whole.Parent != "" || whole.Owner != "local" {
				t.Errorf("told of %+v", whole)
			}
			for _, e := range told[:3] {
				if e.Parent != whole.ID || e.Caller != host.Script || e.Session != whole.Session {
					t.Errorf("told of %+v in %+v", e, whole)
				}
			}
		})
	}
}

// What a call asks is asked of the client, by the rules of its era, and the script's
// time stands still meanwhile.
func TestCodemodeAsks(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // far more than it takes without the wait
	f := open(t, codemodeServers).Front()
	web := httptest.NewServer(f.Handler())
	defer web.Close()
	defer f.Close(context.WithoutCancel(t.Context()))
	code := codemodeArguments(`return await tools.n.a_elicit({})`, fmt.Sprintf(`"timeout_ms":%d`, limit.Milliseconds()))
	const want = `client result: {"action":"accept","content":{"n":1.0}}`
	answer := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		time.Sleep(limit + limit/2) // a person takes longer than the script may
		return json.RawMessage(`{"action":"accept","content":{"n":1.0}}`), nil
	}
	for era, opt := range eras {
		opt.Capabilities, opt.OnRequest = json.RawMessage(`{"elicitation":{}}`), answer
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: web.URL}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		raw, err := c.CallTool(patient(t), "codemode", code, mcp.RequestOptions{})
		for err == nil && gjson.GetBytes(raw, "resultType").String() == "input_required" {
			time.Sleep(limit + limit/2)
			r := gjson.ParseBytes(raw)
			raw, err = c.Request(patient(t), "tools/call", json.RawMessage(`{"name":"codemode","arguments":`+string(code)+`,"inputResponses":{"`+firstKey(r.Get("inputRequests"))+`":{"action":"accept","content":{"n":1.0}}},"requestState":"`+r.Get("requestState").String()+`"}`), mcp.RequestOptions{})
		}
		if got := gjson.GetBytes(raw, "structuredContent.value").String(); err != nil || got != want {
			t.Errorf("%s: %s %v", era, raw, err)
		}
		// One that is not this script's is refused, and none is run for it.
		if era == "modern" {
			_, err := c.Request(patient(t), "tools/call", json.RawMessage(`{"name":"codemode","arguments":{"code":"return 1"},"requestState":"u:mine"}`), mcp.RequestOptions{})
			if err == nil || !strings.Contains(err.Error(), "requestState is unknown") {
				t.Errorf("%v", err)
			}
		}
	}
}

func firstKey(object gjson.Result) (first string) {
	object.ForEach(func(key, _ gjson.Result) bool { first = key.String(); return false })
	return first
}

// A script walks a real server in one call: the one of README.md, whose tokens
// bench/tokens counts.
func TestCodemodeWalksFilesystem(t *testing.T) {
	t.Parallel()
	walk, err := os.ReadFile("../bench/tokens/walk.ts")
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t, fmt.Sprintf("[servers.filesystem]\ncommand = \"node\"\nargs = [%q, \".\"]\n", npmDir(t)+"/@modelcontextprotocol/server-filesystem/dist/index.js"))
	notes := filepath.Join(filepath.Dir(opt.ConfigFiles[0]), "notes")
	if err := os.Mkdir(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		text := strings.Repeat("TODO a line\n", i) + strings.Repeat("something else\n", 400)
		if err := os.WriteFile(filepath.Join(notes, fmt.Sprintf("note-%02d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	url := guarded(t, h)
	for era, opt := range eras {
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		raw, err := c.CallTool(patient(t), "tool_search", json.RawMessage(`{"query":"list a directory and read its text files"}`), mcp.RequestOptions{})
		if found := gjson.GetBytes(raw, "structuredContent.tools.#.name").Raw; err != nil || !strings.Contains(found, "filesystem/list_directory") || !strings.Contains(found, "filesystem/read_text_file") {
			t.Errorf("%s: found %s %v", era, found, err)
		}
		r := script(t, c, string(walk))
		if got := r.Get("structuredContent.value").Raw; got != `[{"name":"note-19.md","todos":19},{"name":"note-18.md","todos":18},{"name":"note-17.md","todos":17}]` {
			t.Errorf("%s: %s", era, r)
		}
		if n := r.Get("structuredContent.calls.#").Int(); n != 21 || len(r.Raw) > 6000 {
			t.Errorf("%s: %d calls, an answer of %d bytes", era, n, len(r.Raw))
		}
	}
}
