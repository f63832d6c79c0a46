package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// inquirer is a host with one server, old, whose tool ask does what a function says.
type inquirer struct {
	tool func(ctx context.Context, req call.Request) (*call.Result, error)
}

func (h inquirer) Servers() []Server {
	t := &catalog.Tool{Server: "old", Name: "ask", Definition: json.RawMessage(`{"name":"ask"}`)}
	return []Server{{Name: "old", Tools: []Tool{{Tool: t, Wire: "old__ask", Exposure: exposure.Direct}}}}
}

func (h inquirer) Owner(any) string { return "" }
func (h inquirer) ReadResult(string, json.RawMessage) (json.RawMessage, error) {
	return nil, &failure.Failure{}
}
func (h inquirer) RunScript(context.Context, Script) (codemode.Outcome, error) {
	return codemode.Outcome{}, codemode.ErrClosed
}
func (h inquirer) PrepareScripts()                            {}
func (h inquirer) Settled(context.Context, func(string) bool) {}
func (h inquirer) Settling(func(string) bool) bool            { return false }
func (h inquirer) Arrived(context.Context, string) bool       { return true }
func (h inquirer) Plain() bool                                { return false }
func (h inquirer) Identifiers() func(*catalog.Tool) (string, string) {
	return func(t *catalog.Tool) (string, string) { return t.Server, t.Name }
}
func (h inquirer) SamePrincipal(a, b any) bool { return idOf(a) == idOf(b) }
func (h inquirer) SameRights(a, b any) bool    { return a == b }
func (h inquirer) Call(ctx context.Context, req call.Request) (*call.Result, error) {
	return h.tool(ctx, req)
}
func (h inquirer) Forward(context.Context, call.ForwardRequest) (json.RawMessage, error) {
	return nil, &call.Failure{}
}

// idOf is who a principal is; what it may use follows a colon.
func idOf(principal any) string {
	s, _ := principal.(string)
	id, _, _ := strings.Cut(s, ":")
	return id
}

const form = `{"message":"<who>?","requestedSchema":{"type":"object"}}`

// asking calls a tool's caller for its name and says it.
func asking(ctx context.Context, req call.Request) (*call.Result, error) {
	answer, err := req.Ask(ctx, "elicitation/create", json.RawMessage(form))
	if err != nil {
		return nil, err
	}
	return &call.Result{JSON: json.RawMessage(`{"content":[],"said":` + string(answer) + `}`)}, nil
}

// ask makes a tools/call of a modern client that declares capabilities.
func ask(ctx context.Context, f *Front, who any, capabilities, more string) (gjson.Result, error) {
	return askTool(ctx, f, who, capabilities, "old__ask", more)
}

func askTool(ctx context.Context, f *Front, who any, capabilities, tool, more string) (gjson.Result, error) {
	raw, err := f.Handle(ctx, &protocol.Incoming{
		Caller: &protocol.Caller{Modern: true, Capabilities: json.RawMessage(capabilities), Principal: who},
		Method: "tools/call", Params: json.RawMessage(`{"name":"` + tool + `"` + more + `}`),
	})
	return gjson.ParseBytes(raw), err
}

// answers are the parameters that answer every question of a result with the same.
func answers(asked gjson.Result, with string) string {
	out := `,"requestState":` + asked.Get("requestState").Raw + `,"inputResponses":{`
	asked.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		out += key.Raw + `:` + with + `,`
		return true
	})
	return strings.TrimSuffix(out, ",") + `}`
}

const forms = `{"elicitation":{}}`

func TestOldQuestionsReachModernClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			calls++
			return asking(ctx, req)
		}})
		defer f.Close()
		asked, err := ask(t.Context(), f, "ann", forms, "")
		if err != nil || asked.Get("resultType").String() != "input_required" {
			t.Fatalf("%s %v", asked.Raw, err)
		}
		if got, want := asked.Get("inputRequests.q1").Raw, `{"method":"elicitation/create","params":`+form+`}`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		time.Sleep(parkedWait - time.Second)
		// Not without an answer, which is asked for again under another state.
		again, err := ask(t.Context(), f, "ann", forms, `,"requestState":`+asked.Get("requestState").Raw)
		if err != nil || again.Get("inputRequests").Raw != asked.Get("inputRequests").Raw || again.Get("requestState").String() == asked.Get("requestState").String() {
			t.Fatalf("%s %v", again.Raw, err)
		}
		got, err := ask(t.Context(), f, "ann", forms, answers(again, `{"action":"accept","content":{"n":1.0}}`))
		if err != nil || got.Get("said").Raw != `{"action":"accept","content":{"n":1.0}}` || calls != 1 {
			t.Errorf("%s %v after %d calls", got.Raw, err, calls)
		}
	})
}

func TestParkedRequestsAreTheirClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(inquirer{asking})
		defer f.Close()
		asked, err := ask(t.Context(), f, "ann", forms, "")
		if err != nil {
			t.Fatal(err)
		}
		good := answers(asked, `{"action":"decline"}`)
		token := asked.Get("requestState").String()
		for _, try := range []struct{ what, who, tool, answer string }{
			{"somebody else", "bob", "old__ask", good},
			{"nobody", "", "old__ask", good},
			{"tampered", "ann", "old__ask", strings.Replace(good, token, token+"x", 1)},
			{"of no kind", "ann", "old__ask", strings.Replace(good, token, strings.TrimPrefix(token, ofParked), 1)},
			{"another tool", "ann", "old__other", good},
		} {
			if got, err := askTool(t.Context(), f, try.who, forms, try.tool, try.answer); err == nil || err.(*protocol.WireError).Code != -32602 {
				t.Errorf("%s: %s %v", try.what, got.Raw, err)
			}
		}
		if got, err := ask(t.Context(), f, "ann", forms, good); err != nil || got.Get("said.action").String() != "decline" {
			t.Errorf("%s %v", got.Raw, err)
		}
		if got, err := ask(t.Context(), f, "ann", forms, good); err == nil {
			t.Errorf("a state was used twice: %s", got.Raw)
		}
	})
}

// Whoever may use something else by now does not get on with what it began, and the
// call ends.
func TestParkedRequestsEndWithRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			res, err := asking(ctx, req)
			ended <- err
			return res, err
		}})
		defer f.Close()
		asked, err := ask(t.Context(), f, "ann:all", forms, "")
		if err != nil {
			t.Fatal(err)
		}
		good := answers(asked, `{"action":"decline"}`)
		if got, err := ask(t.Context(), f, "ann:little", forms, good); err == nil || err.(*protocol.WireError).Code != -32602 {
			t.Errorf("%s %v", got.Raw, err)
		}
		if err := <-ended; err == nil {
			t.Error("the call got an answer")
		}
	})
}

// Whoever does not come back has cancelled the call, and so has a client that leaves
// while it waits, and the host's end.
func TestParkedRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan error, 1)
		f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			_, err := asking(ctx, req)
			<-ctx.Done()
			over <- err
			return nil, ctx.Err()
		}})
		if _, err := ask(t.Context(), f, nil, forms, ""); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-over; err == nil || time.Since(began) != parkedWait {
			t.Errorf("%v after %v", err, time.Since(began))
		}

		asked, err := ask(t.Context(), f, nil, forms, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if got, err := ask(ctx, f, nil, forms, answers(asked, `{"action":"accept"}`)); err != context.Canceled {
			t.Errorf("%s %v", got.Raw, err)
		}
		if err := <-over; err != nil {
			t.Error(err)
		}

		if _, err := ask(t.Context(), f, nil, forms, ""); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := <-over; err == nil {
			t.Error("the question was answered")
		}
	})
}

func TestParkedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			res, err := asking(ctx, req)
			if err != nil {
				return &call.Result{JSON: json.RawMessage(`{"full":true}`)}, nil
			}
			return res, nil
		}})
		defer f.Close()
		for range maxParkedEach {
			if got, err := ask(t.Context(), f, "ann", forms, ""); err != nil || got.Get("full").Exists() {
				t.Fatalf("%s %v", got.Raw, err)
			}
		}
		if got, err := ask(t.Context(), f, "ann", forms, ""); err != nil || !got.Get("full").Exists() {
			t.Errorf("one too many: %s %v", got.Raw, err)
		}
		if got, err := ask(t.Context(), f, "bob", forms, ""); err != nil || got.Get("full").Exists() {
			t.Errorf("somebody else: %s %v", got.Raw, err)
		}
	})
}

// Several questions at once are asked together, and what is answered late is asked
// again.
func TestQuestionsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			var wg sync.WaitGroup
			said := make([]string, 2)
			for i := range said {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					answer, err := req.Ask(ctx, "elicitation/create", json.RawMessage(form))
					if err == nil {
						said[i] = string(answer)
					}
				})
			}
			wg.Wait()
			return &call.Result{JSON: json.RawMessage(`{"said":[` + strings.Join(said, ",") + `]}`)}, nil
		}})
		defer f.Close()
		first, err := ask(t.Context(), f, nil, forms, "")
		if err != nil || first.Get("inputRequests.@keys.#").Int() != 1 {
			t.Fatalf("%s %v", first.Raw, err)
		}
		time.Sleep(2 * time.Second)
		second, err := ask(t.Context(), f, nil, forms, answers(first, `{"action":"accept"}`))
		if err != nil || second.Get("inputRequests.@keys").Raw != `["q2"]` {
			t.Fatalf("%s %v", second.Raw, err)
		}
		got, err := ask(t.Context(), f, nil, forms, answers(second, `{"action":"decline"}`))
		if want := `[{"action":"accept"},{"action":"decline"}]`; err != nil || got.Get("said").Raw != want {
			t.Errorf("%s %v, want %s", got.Raw, err, want)
		}
	})
}

// A client is asked for nothing that it did not declare.
func TestOnlyWhatIsDeclared(t *testing.T) {
	for _, c := range []struct {
		capabilities, method, params string
		want                         bool
	}{
		{`{"elicitation":{}}`, "elicitation/create", `{}`, true},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"form"}`, true},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"url"}`, false},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{"mode":"url"}`, true},
		{`{"elicitation":{"url":{}}}`, "elicitation/create", `{}`, false},
		{`{"elicitation":{"url":{},"form":{}}}`, "elicitation/create", ``, true},
		{`{"elicitation":null,"roots":{}}`, "elicitation/create", ``, false},
		{`{"sampling":{}}`, "sampling/createMessage", `{}`, true},
		{`{"sampling":{}}`, "roots/list", ``, false},
		{`{"roots":{}}`, "roots/list", ``, true},
		{`{"roots":{},"tools":{}}`, "tools/list", ``, false},
		{``, "roots/list", ``, false},
	} {
		if got := declares(&protocol.Caller{Capabilities: json.RawMessage(c.capabilities)}, c.method, json.RawMessage(c.params)); got != c.want {
			t.Errorf("%+v", c)
		}
	}
	f := New(inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
		if req.Ask == nil {
			return &call.Result{JSON: json.RawMessage(`{"nobody":true}`)}, nil
		}
		_, err := req.Ask(ctx, "elicitation/create", nil)
		if fail, ok := err.(*failure.Failure); !ok || fail.Delivery != failure.NotSent {
			t.Errorf("the answer is %v", err)
		}
		return &call.Result{JSON: json.RawMessage(`{"somebody":true}`)}, nil
	}})
	defer f.Close()
	for capabilities, want := range map[string]string{`{}`: "nobody", `{"roots":{}}`: "somebody"} {
		if got, err := ask(t.Context(), f, nil, capabilities, ""); err != nil || !got.Get(want).Exists() {
			t.Errorf("%s: %s %v", capabilities, got.Raw, err)
		}
	}
}
