package npm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

// TestTexts has each line of the table, as the server was seen to write it.
func TestTexts(t *testing.T) {
	for text, want := range map[string]any{
		"Invalid API key. Please check your API key. API keys should start with 'ctx7sk' prefix.":           failure.AuthFailure,
		"Access denied: Library /owner/repo is not included in your allowed libraries":                      failure.AuthFailure,
		"Private repositories require a pro plan or team. Upgrade at https://context7.com/plans":            failure.AuthFailure,
		"Rate limit exceeded. Please try again later.":                                                      failure.RateLimited,
		"Rate limited or quota exceeded. Create a free API key at https://context7.com/dashboard for more.": failure.RateLimited,
		"Monthly quota exceeded. Create a free API key at https://context7.com/dashboard for more.":         failure.RateLimited,
		"Monthly spending limit of $5.00 reached for this teamspace.":                                       failure.RateLimited,
		"No libraries found matching the provided name.":                                                    "no_libraries_found",
		`No libraries found for "x". Try a different search term.`:                                          "no_libraries_found",
		"No documentation libraries found matching your query.":                                             "no_libraries_found",
		"The library you are trying to access does not exist. Please try with a different library ID.":      "library_not_found",
		`Library "/owner/repo" not found. Please check the library ID or your access permissions.`:          "library_not_found",
		`Tag "v1.0.0" not found for library "/owner/repo". Available tags: v2.0.0, v1.5.0`:                  "tag_not_found",
		"Could not fetch documentation snippets from the library.":                                          "no_snippets_found",
		"Documentation not found or not finalized for this library. This might have happened because":       "no_snippets_found",
		"Library /owner/repo not finalized yet.":                                                            "library_not_finalized",
		`{"error":"library_not_finalized","message":"Library /owner/repo not finalized yet."}`:              "library_not_finalized",
		"Library /owner/repo has been redirected to this library: /new-owner/new-repo.":                     "library_redirected",
		"Library /owner/repo is too large to process.":                                                      "library_too_large",
		"Library /owner/repo has no or too few snippets found in documentation files.":                      "no_code_found",
		"Invalid library ID format. Expected: /owner/repo":                                                  failure.InvalidArguments,
		"Library name is required":                                                                        failure.InvalidArguments,
		"Error searching libraries: TypeError: fetch failed":                                              failure.ConnectionRefused,
		"Error searching libraries: TimeoutError: The operation was aborted due to timeout":               failure.Timeout,
		"Error fetching library context. Please try again later. TypeError: fetch failed":                 failure.ConnectionRefused,
		"Error fetching library context. Please try again later. TimeoutError: The operation was aborted": failure.Timeout,
		"Request timed out. Please try again.":                                                            failure.Timeout,
		"Search failed: Service temporarily unavailable":                                                  failure.ServerError,
		"An error occurred while processing your request":                                                 failure.ServerError,
		"Request failed with status 502. Please try again later.":                                         failure.ServerError,
		"### Rate limits\n\nRate limit exceeded is what a server says.":                                   nil,
		"Rate limit exceeded" + strings.Repeat(" is the title of this chapter", 40):                       nil,
		`{"codeSnippets":[]}`: nil,
		"":                    nil,
	} {
		err := reported(text)
		switch want := want.(type) {
		case nil:
			if err != nil {
				t.Errorf("%q is %v", text, err)
			}
		case failure.Class:
			f, ok := errors.AsType[*failure.Failure](err)
			if !ok || f.Class != want || f.Delivery != failure.Answered || string(f.UpstreamData) != text || f.Message == "" {
				t.Errorf("%q is %+v, want %s", text, err, want)
			}
		case string:
			if r, ok := errors.AsType[*library.Refusal](err); !ok || r.Code != want {
				t.Errorf("%q is %+v, want %s", text, err, want)
			}
		}
	}
}

func TestLibraries(t *testing.T) {
	got := libraries(heading + "\n\n**Note:** filters.\n\n- Title: Next.js\n- Context7-compatible library ID: /vercel/next.js\n- Description: A: b\n- Code Snippets: 12\n" +
		"- Source Reputation: Medium\n- Benchmark Score: 95.5\n- Versions: v1, v2\n- Source: x" + rule + "- Title: No id\n- Source Reputation: High")
	if len(got) != 1 || got[0].ID != "/vercel/next.js" || got[0].Description != "A: b" || got[0].Snippets != 12 || got[0].Trust != 4 ||
		got[0].Benchmark != 95.5 || len(got[0].Versions) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestMovedTo(t *testing.T) {
	for text, want := range map[string]string{
		"Library /a/b has been redirected to this library: /c/d.js.": "/c/d.js",
		"Library /a/b not finalized yet.":                            "",
	} {
		if got := movedTo(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	cmd := command(Options{Key: "k", URL: "u"}, []string{"PATH=" + t.TempDir(), "COLLET_LEASE=stdin", "CONTEXT7_API_KEY=old"})
	if cmd.Path != "npx" || len(cmd.Args) != 2 || cmd.Args[1] != pinned {
		t.Errorf("without an installed one: %v", cmd)
	}
	env := strings.Join(cmd.Env, "\n")
	if strings.Contains(env, "COLLET") || !strings.HasSuffix(env, "CONTEXT7_API_KEY=k\nCONTEXT7_API_URL=u") || !strings.Contains(env, "OTEL_SDK_DISABLED=true") {
		t.Errorf("its environment:\n%s", env)
	}
	if strings.Contains(strings.Join(cmd.Args, " "), "k ") {
		t.Error("the key is an argument")
	}
	if cmd := command(Options{Command: []string{"node", "x.js"}}, nil); cmd.Path != "node" || len(cmd.Args) != 1 {
		t.Errorf("its own command: %v", cmd)
	}
}

// What the server lists and says goes on without icons, with promises, and labelled as
// written by strangers.
func TestEditAndJudge(t *testing.T) {
	for _, name := range []string{resolve, query} {
		tool, ok := edit(adapter.Tool{Name: name, Definition: json.RawMessage(`{"name":"` + name + `","icons":[{"src":"data:"}],"inputSchema":{"type":"object"}}`)})
		if !ok || gjson.GetBytes(tool.Definition, "icons").Exists() || !*tool.ReadOnly || !*tool.Idempotent || len(tool.OutputSchema) == 0 {
			t.Errorf("%s: %s", name, tool.Definition)
		}
	}
	for name, text := range map[string]string{resolve: heading + "\n\n- Title: A\n- Context7-compatible library ID: /a/b", query: "Use it so.", "other": "x"} {
		raw, _ := json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}})
		res, err := judge(&adapter.Call{Tool: name, Args: json.RawMessage(`{"libraryId":"/a/b"}`)}, &adapter.Result{JSON: raw})
		if err != nil || !gjson.GetBytes(res.JSON, `_meta.collet\.dev/untrusted`).Bool() {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}
