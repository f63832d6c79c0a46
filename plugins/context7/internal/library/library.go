// Package library is what the parts of this adapter say to each other: a
// library that Context7 knows, documentation of it, and a source of both. It
// reaches nothing itself.
package library

import "context"

// Library is one entry of Context7's index. Zero and empty mean that the source
// did not say.
type Library struct {
	ID          string   `json:"libraryId" jsonschema:"/owner/repo"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	State       string   `json:"state,omitempty" jsonschema:"finalized when its documentation can be read"`
	LastUpdate  string   `json:"lastUpdate,omitempty" jsonschema:"when it was last indexed"`
	Snippets    int      `json:"snippets,omitempty"`
	Stars       int      `json:"stars,omitempty"`
	Trust       float64  `json:"trustScore,omitempty" jsonschema:"0 to 10"`
	Benchmark   float64  `json:"benchmarkScore,omitempty" jsonschema:"0 to 100"`
	Versions    []string `json:"versions,omitempty" jsonschema:"versions with documentation of their own"`
}

// Finalized is the state of a library whose documentation can be read.
const Finalized = "finalized"

// Found is the answer to a search, in the source's own order.
type Found struct {
	Libraries []Library
	// Filtered says that the key's teamspace hides some libraries.
	Filtered bool
}

// Docs is documentation of one library. A source fills Code and Info or, when
// it has only prose, Text.
type Docs struct {
	ID   string // the library it is of, after redirects
	Code []Code
	Info []Info
	Text string
}

// Code is an example.
type Code struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Language    string `json:"language,omitempty"`
	Code        string `json:"code"`
	Source      string `json:"source,omitempty" jsonschema:"where it was found"`
}

// Info is a passage.
type Info struct {
	Breadcrumb string `json:"breadcrumb,omitempty" jsonschema:"where it stands"`
	Content    string `json:"content"`
	Source     string `json:"source,omitempty" jsonschema:"where it was found"`
}

// Source answers searches and reads documentation. An error is a
// *failure.Failure, a *Refusal, or the context's.
type Source interface {
	// Search returns the libraries that match name; none is no error.
	Search(ctx context.Context, query, name string) (Found, error)
	// Text returns documentation as prose.
	Text(ctx context.Context, query, id string) (Docs, error)
	// Snippets returns documentation in pieces where the source has them.
	Snippets(ctx context.Context, query, id string) (Docs, error)
}

// Refusal is an answer of Context7 that is final for this library and says
// nothing of others: there is none of this name, or nothing could be read from
// it. It becomes a result with isError, since the tool ran.
type Refusal struct {
	Code string // "library_not_found"; empty when the source does not say
	Text string // a sentence, with what to do
}

func (r *Refusal) Error() string { return r.Text }
