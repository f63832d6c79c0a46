// Package learn serves Microsoft Learn's MCP endpoint, directly over HTTP: its
// tools with its own definitions, with promises and contracts that those lack,
// and documentation, one question in one call. It never starts a process and
// sends no credential.
package learn

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// DefaultURL is the endpoint; it wants no credential.
const DefaultURL = "https://learn.microsoft.com/api/mcp"

// The tools, as they are called today. Microsoft asks clients not to rely on
// that: see names.
const (
	docsSearch = "microsoft_docs_search"
	docsFetch  = "microsoft_docs_fetch"
	codeSearch = "microsoft_code_sample_search"

	own = "documentation" // the adapter's
)

// dialTimeout bounds connecting, which takes a second: where nothing answers at all,
// nobody has to wait for the host's patience to end.
const dialTimeout = 10 * time.Second

// Server returns what mcpadapter needs to reach and serve Learn. An error is about
// url; "" is DefaultURL.
func Server(url string) (mcpadapter.Options, error) {
	if url == "" {
		url = DefaultURL
	}
	at := mcp.Endpoint{URL: url}
	if err := at.Check(); err != nil {
		return mcpadapter.Options{}, err
	}
	var known names
	return mcpadapter.Options{
		Remote: true,
		Connect: func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
			opt.ClientInfo = mcp.ClientInfo{Name: "collet", Version: env.HostVersion}
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			c, err := mcp.Dial(ctx, at, opt)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Shape: mcpadapter.Shape{
			Edit:  known.edit,
			Judge: judge,
			Own:   func(up mcpadapter.Caller) *adapter.Tools { return documentation(up, &known) },
			Alone: true,
		},
	}, nil
}

// names remembers what Learn calls its two searches now.
type names struct {
	mu         sync.Mutex
	docs, code string
}

// edit promises for the tools what is known of them: all of Learn's only read.
func (n *names) edit(t adapter.Tool) (adapter.Tool, bool) {
	t.Definition = mcpadapter.Without(t.Definition, "icons")
	t.ReadOnly, t.Idempotent = new(true), new(true)
	switch t.Name {
	case docsSearch:
		t.OutputSchema = json.RawMessage(pagesSchema)
	case codeSearch:
		t.OutputSchema = json.RawMessage(samplesSchema)
	}
	if strings.Contains(t.Name, "search") {
		n.mu.Lock()
		defer n.mu.Unlock()
		if code := strings.Contains(t.Name, "code"); code && n.code != codeSearch {
			n.code = t.Name
		} else if !code && n.docs != docsSearch {
			n.docs = t.Name
		}
	}
	return t, true
}

// Offers says whether a tool is one of Learn's or documentation.
func Offers(tool string) bool { return tool == own || strings.HasPrefix(tool, "microsoft_") }

// searches returns the names of both; those of today before a list was read.
func (n *names) searches() (docs, code string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	docs, code = docsSearch, codeSearch
	if n.docs != "" {
		docs = n.docs
	}
	if n.code != "" {
		code = n.code
	}
	return docs, code
}

// What the searches answer with, as Learn documents it. Members that are missing
// or new are nobody's loss.
const (
	pagesSchema   = `{"type":"object","required":["results"],"properties":{"results":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"content":{"type":"string"},"contentUrl":{"type":"string"}}}}}}`
	samplesSchema = `{"type":"object","required":["results"],"properties":{"results":{"type":"array","items":{"type":"object","properties":{"description":{"type":"string"},"codeSnippet":{"type":"string"},"link":{"type":"string"},"language":{"type":"string"}}}}}}`
)

// judge marks what comes from pages, and makes the JSON that a search writes as
// text its structuredContent.
func judge(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
	if res.IsError {
		return res, nil // the tool's own answer, such as a page there is none of
	}
	raw := res.JSON
	if searches := call.Tool == docsSearch || call.Tool == codeSearch; searches && !gjson.GetBytes(raw, "structuredContent").IsObject() {
		text := json.RawMessage(strings.TrimSpace(mcpadapter.Text(raw)))
		if !json.Valid(text) || !gjson.GetBytes(text, "results").IsArray() {
			f := failure.New(failure.InvalidResult, failure.Answered, "%s answered with something else than its documented JSON: %.200s", call.Tool, text)
			f.Origin = failure.OriginUpstream
			return nil, f
		}
		raw = mcpadapter.With(raw, "structuredContent", text)
	}
	return &adapter.Result{JSON: mcpadapter.Untrusted(raw)}, nil
}

// results are those of a search, whichever way they came.
func results(res *adapter.Result, into any) error {
	raw := gjson.GetBytes(res.JSON, "structuredContent.results").Raw
	if raw == "" {
		raw = gjson.Get(mcpadapter.Text(res.JSON), "results").Raw
	}
	return json.Unmarshal([]byte(raw), into)
}

// quoted is s as JSON, with < > & as they are.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSpace(b.String())
}
