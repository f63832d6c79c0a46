package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// withConsent has a server that counts its calls: count is always called, environ never,
// print when a person agrees, and echo asks for that by its adapter's word.
const withConsent = `
[servers.f]
plugin = "testadapter"
env = { FAULT = "asks=echo" }
exposure = "direct"
tool_exposure = { count = "codemode" }
consent = { print = "ask", environ = "deny" }
`

// seen is how many calls have reached the server before this one.
func seen(t *testing.T, h *host.Host) int64 {
	t.Helper()
	n := gjson.GetBytes(mustCall(t, h, "f/count", `{}`).JSON, "content.0.text").Int()
	if n == 0 {
		t.Fatal("the server does not count")
	}
	return n - 1
}

// What a call of a tool needs is known before it is called.
func TestConsentOfATool(t *testing.T) {
	h := open(t, withConsent)
	for tool, want := range map[string]string{"f/count": "allow", "f/print": "ask", "f/environ": "deny", "f/echo": "ask"} {
		shown, err := h.Tool(patient(t), tool)
		if err != nil {
			t.Fatal(err)
		}
		if shown.Consent != want {
			t.Errorf("%s: %q, want %q", tool, shown.Consent, want)
		}
	}
}

// openAsking is open for a host whose program asks.
func openAsking(t *testing.T, consent host.Consenter) *host.Host {
	t.Helper()
	opt := options(t, withConsent)
	opt.Consent = consent
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// What is refused, or nobody can be asked about, never reaches the server.
func TestWithoutConsentNothingIsSent(t *testing.T) {
	t.Parallel()
	for name, consent := range map[string]host.Consenter{
		"nobody to ask": nil,
		"refused": func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{}, nil
		},
		"gone": func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{}, errors.New("gone")
		},
	} {
		h := openAsking(t, consent)
		for _, tool := range []string{"f/print", "f/echo", "f/environ"} {
			for _, caller := range []host.Caller{host.Model, host.Script, host.CLI, host.Program} {
				if f := mustFail(t, h, host.Request{Tool: tool, Caller: caller}); f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent {
					t.Errorf("%s, %s by %s: %v", name, tool, caller, f)
				}
			}
		}
		if n := seen(t, h); n != 0 {
			t.Errorf("%s: the server has seen %d calls", name, n)
		}
	}
}

// The adapter's word has a person asked once in a session, mcp.toml's before each
// call.
func TestAdapterAsksForConsent(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	h := openAsking(t, func(_ context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
		asked[q.Tool+fmt.Sprint(q.Adapter)]++
		return host.ConsentAnswer{Yes: true}, nil
	})
	for range 3 {
		mustCall(t, h, "f/echo", `{}`)
		mustCall(t, h, "f/print", `{}`)
	}
	if asked["echotrue"] != 1 || asked["printfalse"] != 3 || len(asked) != 2 {
		t.Errorf("asked %v", asked)
	}
	if n := seen(t, h); n != 6 {
		t.Errorf("the server has seen %d calls", n)
	}
}

// A script's time rests while a person is asked, and only the call that asks waits.
func TestScriptWaitsForConsent(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	others := make(chan struct{})
	h := open(t, withConsent)
	outcome, err := h.Run(patient(t), host.ScriptRequest{
		Source: `const asking = tools.f.print({});
			const other = await tools.f.count({});
			let denied; try { await tools.f.environ({}); } catch (e) { denied = [e.name, e.code, e.details.class, e.retryable]; }
			await asking;
			const found = await searchTools("print echo count", {limit: 50});
			return [denied, ["print", "echo", "count", "environ"].map((n) => found.find((t) => t.name === "f/" + n)?.approval)];`,
		Limits: host.ScriptLimits{Timeout: limit},
		OnCall: func(c host.ScriptCall) {
			if c.Tool == "f/environ" && c.Ended {
				close(others)
			}
		},
		Consent: func(ctx context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
			if q.Caller != host.Script || q.Tool != "print" {
				t.Errorf("asked about %+v", q)
			}
			<-others                        // which go on meanwhile
			time.Sleep(limit + time.Second) // the person takes longer than the script may
			return host.ConsentAnswer{Yes: true}, nil
		},
	})
	if err != nil || string(outcome.Value) != `[["ToolError","denied","consent-required",false],[true,true,false,null]]` {
		t.Errorf("%s %+v %v", outcome.Value, outcome.Error, err)
	}
}

// Clients of both eras get a form, if they declared that they take one.
func TestFrontAsksForConsent(t *testing.T) {
	t.Parallel()
	for era, legacy := range map[string]bool{"modern": false, "legacy": true} {
		for answer, sent := range map[string]bool{
			`{"action":"accept","content":{}}`: true, `{"action":"decline"}`: false, `{"action":"cancel"}`: false, "": false,
		} {
			for _, way := range []string{"by name", "in a script"} {
				t.Run(era+answer+way, func(t *testing.T) {
					t.Parallel()
					h := open(t, withConsent)
					var asked atomic.Int64
					opt := mcp.Options{SkipProbe: legacy}
					if answer != "" {
						opt.Capabilities = json.RawMessage(`{"elicitation":{}}`)
						opt.OnRequest = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
							checkForm(t, method, string(params))
							asked.Add(1)
							return json.RawMessage(answer), nil
						}
					}
					c := faceOf(t, h, opt)
					got := consenting(t, c, way, answer, &asked)
					if sent == strings.Contains(got, "consent-required") || sent && !strings.Contains(got, "printed") && way == "by name" {
						t.Errorf("answered %s", got)
					}
					wantAsked := int64(1)
					if answer == "" {
						wantAsked = 0
						if !strings.Contains(got, "takes no questions") {
							t.Errorf("answered %s", got)
						}
					}
					if asked.Load() != wantAsked {
						t.Errorf("asked %d times", asked.Load())
					}
					if n := seen(t, h); n != map[bool]int64{true: 1}[sent] {
						t.Errorf("the server has seen %d calls", n)
					}
				})
			}
		}
	}
}

func checkForm(t *testing.T, method, params string) {
	if got := gjson.Get(params, "message").String(); method != "elicitation/create" || !strings.Contains(got, "the tool print of the server f with the arguments\n{\"a\":1") ||
		gjson.Get(params, "requestedSchema.properties.always.type").String() != "boolean" {
		t.Errorf("asked %s %s", method, params)
	}
}

// consenting makes the call of print as that client does, and returns what comes of
// it. A modern client is asked with input_required and comes back with the answer.
func consenting(t *testing.T, c *mcp.Client, way, answer string, asked *atomic.Int64) string {
	t.Helper()
	params := `"name":"f__print","arguments":{"a":1.0}`
	if way == "in a script" {
		code := codemodeArguments(`try { return await call("f/print", JSON.parse('{"a":1.0}')) } catch (e) { return e.details.class + e.message }`)
		params = `"name":"codemode","arguments":` + string(code)
	}
	if _, err := c.ListTools(patient(t)); err != nil { // until it has started
		t.Fatal(err)
	}
	more := ""
	for range 3 {
		raw, err := c.Request(patient(t), "tools/call", json.RawMessage(`{`+params+more+`}`), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := gjson.ParseBytes(raw)
		if r.Get("resultType").String() != "input_required" {
			return string(raw)
		}
		asked.Add(1)
		key := firstKey(r.Get("inputRequests"))
		checkForm(t, r.Get("inputRequests."+key+".method").String(), r.Get("inputRequests."+key+".params").Raw)
		more = `,"inputResponses":{"` + key + `":` + answer + `},"requestState":` + r.Get("requestState").Raw
	}
	t.Error("asked again and again")
	return ""
}

// A modern client that has agreed to a call is not asked again when the server of that
// call has a question of its own.
func TestFrontAsksOnceBehindAServersQuestion(t *testing.T) {
	t.Parallel()
	c := face(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"modern-only\"]\nexposure = \"direct\"\nconsent = \"ask\"\n",
		mcp.Options{Capabilities: json.RawMessage(`{"elicitation":{}}`)})
	if _, err := c.ListTools(patient(t)); err != nil { // until it has started
		t.Fatal(err)
	}
	more, asked := "", ""
	for range 5 {
		raw, err := c.Request(patient(t), "tools/call", json.RawMessage(`{"name":"n__c_input_required","arguments":{}`+more+`}`), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := gjson.ParseBytes(raw)
		if r.Get("resultType").String() != "input_required" {
			if want := "ours server's "; asked != want || !strings.Contains(string(raw), "state s-1, responses ") {
				t.Errorf("asked %q, want %q; %s", asked, want, raw)
			}
			return
		}
		key := firstKey(r.Get("inputRequests"))
		if strings.Contains(r.Get("inputRequests."+key+".params.message").String(), "the tool c_input_required") {
			asked += "ours "
		} else {
			asked += "server's "
		}
		more = `,"inputResponses":{"` + key + `":{"action":"accept"}},"requestState":` + r.Get("requestState").Raw
	}
	t.Errorf("asked %s", asked)
}
