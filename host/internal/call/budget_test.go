package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// budgeted makes one call whose result is raw.
func budgeted(t *testing.T, keeper Keeper, budget int64, raw, definition string, req Request) *Result {
	t.Helper()
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return &server.Answer{JSON: []byte(raw), IsError: gjson.Get(raw, "isError").Bool()}, nil
	})
	pipe := pipeline(p, definition)
	pipe.Budget, pipe.Results = func() int64 { return budget }, keeper
	req.Tool = "s/t"
	res, err := pipe.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func textOf(text string, more string) string {
	return string(rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text)) + `}]` + more + `}`
}

func resultStore(t *testing.T) *results.Store {
	return &results.Store{Dir: filepath.Join(t.TempDir(), "results")}
}

// A model gets a short answer in the place of a large result, and reads the result
// by its handle, byte for byte.
func TestOverBudget(t *testing.T) {
	store := resultStore(t)
	text := strings.Repeat("a line with \"quotes\" & <tags> é\n", 500)
	raw := textOf(text, "")
	res := budgeted(t, store, 4096, raw, plain, Request{Caller: exposure.Model, Owner: "token:1"})
	if !res.IsError || len(res.JSON) > 4096 || !json.Valid(res.JSON) {
		t.Fatalf("%v, %d bytes: %s", res.IsError, len(res.JSON), res.JSON)
	}
	answer := gjson.ParseBytes(res.JSON)
	e := answer.Get("structuredContent.error")
	var keys []string
	e.ForEach(func(k, _ gjson.Result) bool { keys = append(keys, k.Str); return true })
	if got := strings.Join(keys, " "); got != "code tool bytes budget estimatedTokens advice handle" {
		t.Errorf("the error has %s", got)
	}
	if e.Get("code").Str != "over-budget" || e.Get("tool").Str != "s/t" || e.Get("bytes").Int() != int64(len(raw)) || e.Get("budget").Int() != 4096 ||
		e.Get("estimatedTokens").Int() != int64(len(raw)/4) || e.Get("advice").Str == "" || !answer.Get("isError").Bool() {
		t.Errorf("%s", res.JSON)
	}
	said := answer.Get("content.0.text").Str
	for _, part := range []string{"succeeded", "must not be repeated", "result_read", e.Get("handle").Str, "\n\na line with \"quotes\""} {
		if !strings.Contains(said, part) {
			t.Errorf("the text does not say %q: %s", part, said)
		}
	}
	if _, head, _ := strings.Cut(said, "It begins:\n\n"); !strings.HasPrefix(text, head) || !strings.HasSuffix(head, "é\n") {
		t.Errorf("no beginning in whole lines: %q", head)
	}
	page, err := store.Read("token:1", e.Get("handle").Str, results.Slice{Path: "@this"}, 0)
	if err != nil || page.Data != raw {
		t.Errorf("%d bytes, %v", len(page.Data), err)
	}
	for _, other := range []string{"token:2", results.Local} {
		if _, err := store.Read(other, e.Get("handle").Str, results.Slice{}, 0); err == nil {
			t.Errorf("%s reads what token:1 got", other)
		}
	}
}

// The budget is for models alone, and what is within it passes byte for byte.
func TestWithinBudget(t *testing.T) {
	raw := textOf(strings.Repeat("x", 5000), ` , "n":1.0`)
	store := resultStore(t)
	for _, caller := range []exposure.Caller{exposure.Script, exposure.CLI, exposure.Program, ""} {
		if res := budgeted(t, store, 1024, raw, plain, Request{Caller: caller}); string(res.JSON) != raw || res.IsError {
			t.Errorf("%q got %.100s", caller, res.JSON)
		}
	}
	if res := budgeted(t, store, int64(len(raw)), raw, plain, Request{Caller: exposure.Model}); string(res.JSON) != raw {
		t.Errorf("just within: %.100s", res.JSON)
	}
	if res := budgeted(t, store, int64(len(raw))-1, raw, plain, Request{Caller: exposure.Model}); !res.IsError {
		t.Errorf("a byte over: %.100s", res.JSON)
	}
}

// An answer fits the smallest budget, whatever the result consists of.
func TestSmallestBudget(t *testing.T) {
	for _, raw := range []string{
		textOf(strings.Repeat("\x01", 9000), ""), textOf(strings.Repeat("€", 9000), ""), textOf(strings.Repeat("\n", 9000), `,"isError":true`),
		`{"structuredContent":{"a":"` + strings.Repeat("b", 9000) + `"}}`, `[` + strings.Repeat("1,", 9000) + `1]`, strings.Repeat("\xff", 9000),
	} {
		for _, keeper := range []Keeper{resultStore(t), full{}, nil} {
			for _, budget := range []int64{1 << 10, 2 << 10, 8 << 10} {
				res := budgeted(t, keeper, budget, raw, plain, Request{Caller: exposure.Model})
				if int64(len(res.JSON)) > budget || !json.Valid(res.JSON) {
					t.Errorf("%d bytes within %d: %.300s", len(res.JSON), budget, res.JSON)
				}
			}
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Put(context.Context, string, string, []byte) (string, error) {
	return "", errors.New("write /home/u/.local/state: no space left on device")
}

// A result that cannot be kept is over budget all the same, without a handle, and
// the model does not learn where the host keeps its files.
func TestNotKept(t *testing.T) {
	raw := textOf(strings.Repeat("line\n", 5000), "")
	for _, keeper := range []Keeper{full{}, nil} {
		res := budgeted(t, keeper, 4096, raw, plain, Request{Caller: exposure.Model})
		e := gjson.GetBytes(res.JSON, "structuredContent.error")
		said := gjson.GetBytes(res.JSON, "content.0.text").Str
		if !res.IsError || e.Get("handle").Exists() || e.Get("code").Str != "over-budget" || !strings.Contains(said, "must not be repeated") ||
			!strings.Contains(said, "could not be kept") || strings.Contains(string(res.JSON), "/home") || !strings.Contains(said, "line\nline\n") {
			t.Errorf("%s", res.JSON)
		}
	}
}

// The host's log says why without being asked for more.
func TestNotKeptIsToldTheLog(t *testing.T) {
	pipe := pipeline(newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return &server.Answer{JSON: []byte(textOf(strings.Repeat("line\n", 5000), ""))}, nil
	}), plain)
	var log bytes.Buffer
	pipe.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	pipe.Budget, pipe.Results = func() int64 { return 4096 }, full{}
	if _, err := pipe.Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Model}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "no space left on device") {
		t.Errorf("the log has %q", log.String())
	}
}

func TestOverBudgetAfterAnError(t *testing.T) {
	res := budgeted(t, resultStore(t), 4096, textOf(strings.Repeat("no\n", 5000), `,"isError":true`), plain, Request{Caller: exposure.Model})
	if said := gjson.GetBytes(res.JSON, "content.0.text").Str; strings.Contains(said, "succeeded") || !strings.Contains(said, "says that it failed") {
		t.Errorf("%s", said)
	}
}

// A client that holds structuredContent against the schema it was shown would drop
// the answer.
func TestOverBudgetOfATypedTool(t *testing.T) {
	const closed = `{"name":"t","outputSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}`
	const open = `{"name":"t","outputSchema":{"type":"object","properties":{"n":{"type":"string"}}}}`
	raw := `{"content":[],"structuredContent":{"n":"` + strings.Repeat("x", 5000) + `"}}`
	for _, c := range []struct {
		definition string
		via        exposure.Via
		structured bool
	}{{closed, exposure.ByName, false}, {closed, exposure.ByBridge, true}, {open, exposure.ByName, true}, {plain, exposure.ByName, true}} {
		res := budgeted(t, resultStore(t), 4096, raw, c.definition, Request{Caller: exposure.Model, Via: c.via})
		here, there := "structuredContent.error.handle", `_meta.collet\.dev/error.handle`
		if !c.structured {
			here, there = there, here
		}
		if !gjson.GetBytes(res.JSON, here).Exists() || gjson.GetBytes(res.JSON, there).Exists() {
			t.Errorf("%s, by %s: %s", c.definition, c.via, res.JSON)
		}
	}
}

func TestFailureAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Failure
		want string
	}{
		{"timeout", Failure{Server: "s", Tool: "t", Failure: failure.Failure{Class: failure.Timeout, Message: "no answer within 30s; outcome unknown: the tool may have run"}},
			`{"content":[{"type":"text","text":"s/t: no answer within 30s; outcome unknown: the tool may have run."}],"isError":true,"structuredContent":{"error":{"code":"timeout","message":"no answer within 30s; outcome unknown: the tool may have run","delivery":"unknown","server":"s","tool":"t"}}}`},
		{"canceled", Failure{Server: "s", Tool: "t", Failure: failure.Failure{Class: failure.Canceled, Message: "the caller gave up"}},
			`{"content":[{"type":"text","text":"s/t: the caller gave up. The tool may have run."}],"isError":true,"structuredContent":{"error":{"code":"canceled","message":"the caller gave up","delivery":"unknown","server":"s","tool":"t"}}}`},
		{"rate limit", Failure{Server: "s", Failure: failure.Failure{Class: failure.RateLimited, Delivery: failure.Answered, RetryAfter: 1500 * time.Millisecond, UpstreamCode: 429, Message: "slow down."}},
			`{"content":[{"type":"text","text":"s: slow down. Try again in 2 s."}],"isError":true,"structuredContent":{"error":{"code":"rate-limited","message":"slow down.","delivery":"answered","server":"s","retryAfterMs":1500,"upstreamCode":429}}}`},
		{"misconfigured", Failure{Server: "s", Misconfigured: true, Failure: failure.Failure{Class: failure.InvalidArguments, Delivery: failure.NotSent, RetryAfter: time.Second, Message: "TOKEN is not set"}},
			`{"content":[{"type":"text","text":"s: TOKEN is not set. A person has to correct the server's configuration first; trying again does not help."}],"isError":true,"structuredContent":{"error":{"code":"invalid-arguments","message":"TOKEN is not set","delivery":"not-sent","server":"s","retryAfterMs":1000}}}`},
		{"problems", Failure{Failure: failure.Failure{Class: failure.InvalidArguments, Delivery: failure.NotSent, Message: "a \"<\u2028\x00\xff", Problems: []failure.Problem{{Path: "/a", Rule: "type", Message: "a \"string\""}}}},
			"{\"content\":[{\"type\":\"text\",\"text\":\"a \\\"<\u2028\\u0000\uFFFD.\"}],\"isError\":true,\"structuredContent\":{\"error\":{\"code\":\"invalid-arguments\",\"message\":\"a \\\"<\u2028\\u0000\uFFFD\",\"delivery\":\"not-sent\",\"problems\":[{\"path\":\"/a\",\"rule\":\"type\",\"message\":\"a \\\"string\\\"\"}]}}}"},
		{"nothing known", Failure{}, `{"content":[{"type":"text","text":"unknown."}],"isError":true,"structuredContent":{"error":{"code":"unknown","message":"","delivery":"unknown"}}}`},
	} {
		if got := string(c.f.Answer(true)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	f := Failure{Failure: failure.Failure{Message: strings.Repeat("é", 100_000), Problems: make([]failure.Problem, 1000)}}
	if got := f.Answer(false); len(got) > 12<<10 || gjson.GetBytes(got, `_meta.collet\.dev/error.code`).Str != "unknown" || gjson.GetBytes(got, "structuredContent").Exists() {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

func TestWithText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"structuredContent":{"a":"<é>"}}`, `{"content":[{"type":"text","text":"{\"a\":\"<é>\"}"}],"structuredContent":{"a":"<é>"}}`},
		{` { "structuredContent" : {"n": 1.0} , "content" : [ ] }`, ` { "structuredContent" : {"n": 1.0} , "content" : [{"type":"text","text":"{\"n\": 1.0}"} ] }`},
		{`{"content":null,"structuredContent":[1],"x":9007199254740993}`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1],"x":9007199254740993}`},
	} {
		if got := string(WithText([]byte(c.in), 100)); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s became\n%s, want\n%s", c.in, got, c.want)
		}
	}
	for _, same := range []string{
		`{"content":[{"type":"image"}],"structuredContent":{}}`, `{"content":[]}`, `{}`, `[]`, ``, `{"structuredContent":null}`,
		`{"content":"text","structuredContent":{}}`, `{"resultType":"input_required"}`,
	} {
		if got := string(WithText([]byte(same), 100)); got != same {
			t.Errorf("%s became %s", same, got)
		}
	}
	long := `{"structuredContent":{"a":"` + strings.Repeat("é\\n", 50_000) + `"}}`
	for _, limit := range []int{0, 40, 99, 100, 110, 120, 121, 122, 123, 124, 1000, 16 << 10} {
		got := WithText([]byte(long), limit)
		text := gjson.GetBytes(got, "content.0.text").Str
		if added := len(got) - len(long); added > max(limit, 0) || limit >= 1000 && added < limit-8 || !json.Valid(got) || strings.Contains(text, "\uFFFD") {
			t.Errorf("%d bytes within %d: %.200s", added, limit, got)
		}
		if gjson.GetBytes(got, "structuredContent").Raw != gjson.Get(long, "structuredContent").Raw {
			t.Error("structuredContent was touched")
		}
		if limit >= 1000 && !strings.Contains(text, "[cut: ") {
			t.Errorf("nothing tells of the cut: %s", text[len(text)-100:])
		}
	}
}

func FuzzWithText(f *testing.F) {
	f.Add([]byte(`{"structuredContent":{"a":"\u00e9"},"content":[]}`), 100)
	f.Add([]byte(` {"content":null,"structuredContent":1}`), 60)
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = min(limit, 1<<16)
		got := WithText(raw, limit)
		if len(got)-len(raw) > max(limit, 0) || json.Valid(raw) && !json.Valid(got) {
			t.Errorf("%q became %q within %d", raw, got, limit)
		}
		if string(got) != string(raw) && gjson.GetBytes(got, "structuredContent").Raw != gjson.GetBytes(raw, "structuredContent").Raw {
			t.Errorf("%q became %q", raw, got)
		}
	})
}

// What is passed on has a budget where a model reads it, and nowhere else.
func TestForwardedOverBudget(t *testing.T) {
	p := &Pipeline{Budget: func() int64 { return 1000 }}
	large := `{"contents":[{"uri":"u","text":"` + strings.Repeat("x", 1000) + `"}]}`
	for _, test := range []struct {
		method, params, raw string
		caller              exposure.Caller
		over                bool
	}{
		{"resources/read", `{"uri":"file:///a"}`, large, exposure.Model, true},
		{"resources/read", `{"uri":"file:///a"}`, large, exposure.Program, false},
		{"resources/read", `{"uri":"file:///a"}`, `{"contents":[]}`, exposure.Model, false},
		{"resources/read", `{"uri":"ui://page"}`, large, exposure.Model, false},
		{"resources/read", `{"uri":"file:///a"}`, `{"resultType":"input_required",` + large[1:], exposure.Model, false},
		{"prompts/get", `{"name":"p"}`, large, exposure.Model, true},
		{"resources/list", `{}`, large, exposure.Model, false},
	} {
		f := p.fitForwarded(t.Context(), &ForwardRequest{Server: "s", Method: test.method, Params: json.RawMessage(test.params), Caller: test.caller}, json.RawMessage(test.raw))
		if (f != nil) != test.over || f != nil && (f.Class != failure.OverBudget || f.Delivery != failure.Answered) {
			t.Errorf("%s %s to %s: %v", test.method, test.params, test.caller, f)
		}
	}
}
