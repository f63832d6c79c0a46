// Package tools is what this adapter offers: the two tools of Context7's own MCP
// server, with its names, arguments and texts, and lookup, which is both in one
// call. Where the answers come from is the source's business.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/plugins/context7/internal/rank"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

// New returns the tools over a source.
func New(source library.Source) *adapter.Tools {
	s := &server{func(*adapter.Call) library.Source { return source }}
	var t adapter.Tools
	s.addLookup(&t)
	adapter.Add(&t, "resolve-library-id",
		"Libraries that match a name, with their Context7 ids (/owner/repo), for query-docs. lookup does both in one call. The query leaves this machine: no secrets.",
		s.resolve, adapter.Title("Resolve Context7 Library ID"), adapter.ReadOnly(), adapter.Idempotent(), adapter.Output[Libraries](), adapter.Schema(filled("query", "libraryName")))
	adapter.Add(&t, "query-docs",
		"Documentation and examples of one library by its Context7 id (/owner/repo or /owner/repo/version), as from resolve-library-id. The query leaves this machine: no secrets.",
		s.query, adapter.Title("Query Documentation"), adapter.ReadOnly(), adapter.Idempotent(), adapter.Output[Prose](), adapter.Schema(filled("libraryId", "query")))
	return &t
}

// AddLookup adds lookup alone, over a source for each call.
func AddLookup(t *adapter.Tools, source func(*adapter.Call) library.Source) {
	(&server{source}).addLookup(t)
}

func (s *server) addLookup(t *adapter.Tools) {
	adapter.Add(t, "lookup",
		"Current documentation of a library, framework, SDK or API for one question: finds the library, picks the version and returns examples and passages. Prefer it to memory and to a web search. The query leaves this machine: no secrets.",
		s.lookup, adapter.Title("Look up documentation"), adapter.ReadOnly(), adapter.Idempotent(), adapter.Output[Lookup](), adapter.Schema(filled("library", "query")))
}

// OutputSchema is what the structuredContent of a tool here keeps to; nil when
// there is no such tool.
func OutputSchema(name string) json.RawMessage {
	list, _ := New(nil).Tools(context.Background())
	for _, t := range list {
		if t.Name == name {
			return json.RawMessage(gjson.GetBytes(t.Definition, "outputSchema").Raw)
		}
	}
	return nil
}

// filled requires a character in each of the arguments.
func filled(names ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, name := range names {
			s.Properties[name].MinLength = new(1)
		}
	}
}

type server struct {
	source func(*adapter.Call) library.Source
}

type lookupArgs struct {
	Library string `json:"library" jsonschema:"its name as its makers write it (Next.js, Customer.io), or its Context7 id"`
	Query   string `json:"query" jsonschema:"one question or task: how to check a cookie in middleware"`
	Version string `json:"version,omitempty" jsonschema:"15, 15.1 or v15.1.8: the newest that fits; left out, the current documentation"`
}

// maxAlternatives is how many other libraries an answer names: enough to see
// that the wrong one was picked.
const maxAlternatives = 4

// Lookup is the answer of lookup.
type Lookup struct {
	Available         bool             `json:"available" jsonschema:"whether documentation was read; if not, reason says why"`
	Reason            string           `json:"reason,omitempty"`
	RetryAfterSeconds int              `json:"retryAfterSeconds,omitempty"`
	LibraryID         string           `json:"libraryId" jsonschema:"what was read, or is to be read with query-docs"`
	Version           string           `json:"version,omitempty" jsonschema:"the version it is of; left out for the current one"`
	Notes             []string         `json:"notes,omitempty" jsonschema:"what is not quite as asked for"`
	Library           *library.Library `json:"library,omitempty"`
	Alternatives      []string         `json:"alternatives,omitempty" jsonschema:"ids of other libraries that match"`
	Code              []library.Code   `json:"code,omitempty"`
	Info              []library.Info   `json:"info,omitempty"`
	Text              string           `json:"text,omitempty" jsonschema:"the documentation, where it came without code and info"`
}

func (s *server) lookup(ctx context.Context, call *adapter.Call, in lookupArgs) (*adapter.Result, error) {
	call.Progress(0, 2, "searching for "+in.Library)
	source := s.source(call)
	answer, err := pick(ctx, source, in)
	if err != nil {
		return nil, err
	}
	call.Progress(1, 2, "reading "+answer.LibraryID)
	docs, err := source.Snippets(ctx, in.Query, answer.LibraryID)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		answer.Reason = err.Error()
		if f, ok := errors.AsType[*failure.Failure](err); ok {
			answer.RetryAfterSeconds = int(f.RetryAfter.Seconds())
		}
	default:
		answer.Available = true
		if docs.ID != answer.LibraryID {
			answer.Notes = append(answer.Notes, fmt.Sprintf("%s has moved to %s", answer.LibraryID, docs.ID))
			answer.LibraryID = docs.ID
		}
		answer.Code, answer.Info, answer.Text = docs.Code, docs.Info, docs.Text
	}
	return adapter.Untrusted(lookupText(answer), answer)
}

// pick decides what to read.
func pick(ctx context.Context, source library.Source, in lookupArgs) (Lookup, error) {
	name, exact := in.Library, strings.HasPrefix(in.Library, "/")
	if exact && in.Version == "" {
		return Lookup{LibraryID: in.Library}, nil
	}
	if exact {
		name = in.Library[strings.LastIndexByte(in.Library, '/')+1:]
	}
	found, err := source.Search(ctx, in.Query, name)
	if err != nil {
		return Lookup{}, err
	}
	list := rank.Order(found.Libraries, in.Library, in.Version)
	if exact && (len(list) == 0 || !strings.EqualFold(list[0].ID, in.Library)) {
		// Its versions are not known, so the API has to say whether there is this one.
		return Lookup{LibraryID: in.Library + "/" + in.Version, Version: in.Version}, nil
	}
	if len(list) == 0 {
		return Lookup{}, errors.New(noneFound(in.Library))
	}
	best := list[0]
	answer := Lookup{LibraryID: best.ID, Library: &best}
	for _, other := range list[1:min(len(list), 1+maxAlternatives)] {
		answer.Alternatives = append(answer.Alternatives, other.ID)
	}
	if found.Filtered {
		answer.Notes = append(answer.Notes, "the key's teamspace hides some libraries, see https://context7.com/dashboard?tab=policies")
	}
	if in.Version == "" {
		return answer, nil
	}
	if answer.Version = rank.Version(best.Versions, in.Version); answer.Version != "" {
		answer.LibraryID += "/" + answer.Version
		return answer, nil
	}
	answer.Notes = append(answer.Notes, fmt.Sprintf("there is no documentation of version %s by itself, so this is the current one; versions: %s",
		in.Version, orNone(strings.Join(best.Versions, ", "))))
	return answer, nil
}

func noneFound(name string) string {
	return fmt.Sprintf("Context7 knows no library called %q: try its official name, or the name of its repository", name)
}

func orNone(list string) string {
	if list == "" {
		return "none"
	}
	return list
}

type resolveArgs struct {
	Query       string `json:"query" jsonschema:"what is wanted of the library: results are ranked by it"`
	LibraryName string `json:"libraryName" jsonschema:"its name as its makers write it: Next.js, not nextjs"`
}

// Libraries is the answer of resolve-library-id, in Context7's own order.
type Libraries struct {
	Libraries []library.Library `json:"libraries"`
}

func (s *server) resolve(ctx context.Context, call *adapter.Call, in resolveArgs) (*adapter.Result, error) {
	found, err := s.source(call).Search(ctx, in.Query, in.LibraryName)
	if err != nil {
		return nil, err
	}
	return adapter.Untrusted(librariesText(found), Libraries{found.Libraries})
}

type queryArgs struct {
	LibraryID string `json:"libraryId" jsonschema:"/vercel/next.js, or /vercel/next.js/v15.1.8"`
	Query     string `json:"query" jsonschema:"one question or task: how to check a cookie in middleware"`
}

// Prose is the answer of query-docs.
type Prose struct {
	LibraryID string `json:"libraryId" jsonschema:"the library it is of: another one than asked for when that has moved"`
	Text      string `json:"text"`
}

func (s *server) query(ctx context.Context, call *adapter.Call, in queryArgs) (*adapter.Result, error) {
	docs, err := s.source(call).Text(ctx, in.Query, in.LibraryID)
	if err != nil {
		return nil, err
	}
	return adapter.Untrusted(docs.Text, Prose{docs.ID, docs.Text})
}
