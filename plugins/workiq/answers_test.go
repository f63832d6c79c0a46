package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// TestExchanges guards what each tool answers with. Nobody here has accepted the
// licence, so the answers are written after the vendor's documents and what people
// showed of theirs.
func TestExchanges(t *testing.T) {
	t.Parallel()
	p := accepted(t)
	raw, err := os.ReadFile("testdata/exchanges.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range gjson.ParseBytes(raw).Array() {
		tool := e.Get("tool").Str
		seen[tool] = true
		p.lay(t, "next", strings.ReplaceAll(e.Get("upstream").Raw, "\n", "")+"\n")
		got, err := p.call(t, tool, e.Get("arguments").Raw)
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		if a, b := got.Get("content").Raw, e.Get("upstream.content").Raw; a != b {
			t.Errorf("%s: content %s, want %s", tool, a, b)
		}
		if a, b := got.Get("structuredContent").Raw, e.Get("structured").Raw; a != b {
			t.Errorf("%s: structuredContent %s, want %s", tool, a, b)
		}
		if !got.Get(`_meta.collet\.dev/untrusted`).Bool() || got.Get("isError").Bool() {
			t.Errorf("%s: %s", tool, got.Raw)
		}
	}
	for tool := range offered {
		if !seen[tool] {
			t.Errorf("no exchange of %s", tool)
		}
	}
	if _, calls := p.told(t); len(calls) < 2 || calls[1] != `ask {"question":"Who knows <b> & \"c\"?","conversationId":"c-1","agentId":"bizchat-as-gpt-scenario"}` {
		t.Errorf("the server got %q", calls)
	}
}

// Failures that come as answers are failures, and answers that speak of failures are none.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	p := accepted(t)
	for _, c := range []struct {
		text    string
		isError bool
		class   failure.Class
		holds   string
	}{
		{`{"response":null,"conversationId":null,"error":"Authentication failed. Please re-authenticate by running 'workiq ask' interactively."}`, false, failure.AuthFailure, `run "workiq auth login" in a terminal`},
		{`Your session has expired.`, true, failure.AuthFailure, `run "workiq auth login" in a terminal`},
		{`Error: AADSTS700082: The refresh token has expired due to inactivity.`, false, failure.AuthFailure, `run "workiq auth login" in a terminal`},
		{`{"response":null,"conversationId":null,"error":"An error occurred while processing your request."}`, false, failure.ServerError, "a question in a terminal shows"},
		{`Access denied for path: /me/messages`, true, failure.AuthFailure, "will be refused again"},
		{`null`, false, failure.ServerError, "answered with nothing"},
		{``, false, failure.ServerError, "answered with nothing"},
		{`{"response":"","conversationId":"c","error":null}`, false, failure.ServerError, "answered with nothing"},
	} {
		p.says(t, c.text, c.isError)
		_, err := p.call(t, "ask", `{"question":"q"}`)
		f := wantFailure(t, err, c.class, failure.Answered, c.holds)
		if string(f.UpstreamData) != c.text {
			t.Errorf("of %q is kept %q", c.text, f.UpstreamData)
		}
	}

	p.says(t, `{"response":null,"conversationId":null,"error":"Busy.","retryAfterSeconds":20}`, true)
	_, err := p.call(t, "ask", `{"question":"q"}`)
	if f := wantFailure(t, err, failure.RateLimited, failure.Answered, "Busy"); f.RetryAfter != 20*time.Second {
		t.Errorf("retry after %s", f.RetryAfter)
	}
	p.says(t, `null`, false)
	_, err = p.call(t, "list_agents", `{}`)
	wantFailure(t, err, failure.ServerError, failure.Answered, "answered with nothing")

	// what the tool itself refuses is its own answer
	for _, isError := range []bool{true, false} {
		p.says(t, `{"response":null,"error":"No agent has that id."}`, isError)
		got, err := p.call(t, "ask", `{"question":"q","agentId":"x"}`)
		if err != nil || !got.Get("isError").Bool() || got.Get("structuredContent").Exists() || !got.Get(`_meta.collet\.dev/untrusted`).Bool() {
			t.Errorf("a refusal: %s, %v", got.Raw, err)
		}
	}
	for _, text := range []string{
		`{"response":"Authentication failed 12 times; AADSTS65002 means that an admin consent is missing.","conversationId":"c","error":null}`,
		`Ann wrote: too many requests were throttled.`,
	} {
		p.says(t, text, false)
		if got, err := p.call(t, "ask", `{"question":"q"}`); err != nil || got.Get("structuredContent.answer").Str == "" {
			t.Errorf("an answer about failures: %s, %v", got.Raw, err)
		}
	}
}
