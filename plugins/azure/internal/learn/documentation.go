package learn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

type question struct {
	Query    string `json:"query" jsonschema:"one question or task, with product and version: rotate keys of a storage account"`
	Language string `json:"language,omitempty" jsonschema:"also return code samples in it: csharp, python, azurecli"`
}

// Answer is what documentation answers with.
type Answer struct {
	Available         bool     `json:"available" jsonschema:"whether Microsoft Learn could be asked; if not, reason says why"`
	Reason            string   `json:"reason,omitempty"`
	RetryAfterSeconds int      `json:"retryAfterSeconds,omitempty"`
	Notes             []string `json:"notes,omitempty" jsonschema:"what is missing"`
	Results           []Page   `json:"results"`
	Samples           []Sample `json:"samples,omitempty"`
}

// Page is a part of a page.
type Page struct {
	Title   string `json:"title"`
	Content string `json:"content" jsonschema:"a part of the page; microsoft_docs_fetch reads all of it"`
	URL     string `json:"contentUrl"`
}

// Sample is code from a page.
type Sample struct {
	Description string `json:"description,omitempty"`
	Code        string `json:"codeSnippet"`
	Link        string `json:"link,omitempty"`
	Language    string `json:"language,omitempty"`
}

// documentation is the adapter's own tool.
func documentation(up mcpadapter.Caller, known *names) *adapter.Tools {
	var t adapter.Tools
	adapter.Add(&t, own,
		"Microsoft's own documentation for one question: Azure, .NET, Microsoft 365, Windows and the rest of Microsoft Learn. The query leaves this machine: no secrets.",
		func(ctx context.Context, call *adapter.Call, in question) (*adapter.Result, error) {
			return ask(ctx, up, known, call, in)
		}, adapter.Title("Search Microsoft's documentation"), adapter.ReadOnly(), adapter.Idempotent(), adapter.Output[Answer]())
	return &t
}

func ask(ctx context.Context, up mcpadapter.Caller, known *names, call *adapter.Call, in question) (*adapter.Result, error) {
	docs, code := known.searches()
	answer := Answer{Available: true}
	if err := search(ctx, up, call, docs, `{"query":`+quoted(in.Query)+`}`, &answer.Results); err != nil {
		return unavailable(ctx, err)
	}
	if in.Language != "" {
		args := `{"query":` + quoted(in.Query) + `,"language":` + quoted(in.Language) + `}`
		if err := search(ctx, up, call, code, args, &answer.Samples); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil {
			answer.Notes = append(answer.Notes, "no code samples: "+err.Error())
		}
	}
	return adapter.Untrusted(text(answer), answer)
}

// search calls one search of Learn. Its own no is an error with its text.
func search(ctx context.Context, up mcpadapter.Caller, call *adapter.Call, tool, args string, into any) error {
	res, err := up.CallUpstream(ctx, call, tool, json.RawMessage(args))
	if err != nil {
		return err
	}
	if res.IsError {
		return errors.New(mcpadapter.Text(res.JSON))
	}
	if err := results(res, into); err != nil {
		return failure.New(failure.InvalidResult, failure.Answered, "%s answered with no results: %w", tool, err)
	}
	return nil
}

// unavailable is the answer when Learn cannot be reached or refuses for now.
// Anything else is reported as what it is.
func unavailable(ctx context.Context, err error) (*adapter.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f, ok := errors.AsType[*failure.Failure](err)
	if !ok {
		return nil, err
	}
	switch f.Class {
	case failure.ConnectionRefused, failure.DNSFailure, failure.Timeout, failure.AuthFailure, failure.RateLimited:
		answer := Answer{Reason: "Microsoft Learn cannot be asked: " + f.Message, RetryAfterSeconds: int(f.RetryAfter.Seconds())}
		return adapter.Untrusted(text(answer), answer)
	}
	return nil, f
}

// text is an answer for a model.
func text(a Answer) string {
	var b strings.Builder
	if !a.Available {
		fmt.Fprintf(&b, "%s.\n", strings.TrimRight(a.Reason, "."))
	} else if len(a.Results)+len(a.Samples) == 0 {
		b.WriteString("Nothing was found: word the question otherwise.\n")
	}
	for _, note := range a.Notes {
		fmt.Fprintf(&b, "Note: %s.\n\n", strings.TrimRight(note, "."))
	}
	for _, p := range a.Results {
		fmt.Fprintf(&b, "## %s\n\nSource: %s\n\n%s\n\n", p.Title, p.URL, p.Content)
	}
	for _, s := range a.Samples {
		fence := "```"
		for strings.Contains(s.Code, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "## Sample\n\nSource: %s\n\n%s\n\n%s%s\n%s\n%s\n\n", s.Link, s.Description, fence, s.Language, strings.TrimRight(s.Code, "\n"), fence)
	}
	return strings.TrimRight(b.String(), "\n")
}
