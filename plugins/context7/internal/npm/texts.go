package npm

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/api"
	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/sdk/failure"
)

// line is one text that the server answers with in place of what was asked for.
// It has no status and no isError: the text is all there is.
type line struct {
	begins, holds string
	// class is the failure that it means; Unknown is a Refusal with that code.
	class  failure.Class
	code   string
	advice string
}

// lines is that prose, in two layers: sentences of the API, which the server
// hands on, and its own. The first that fits counts.
var lines = []line{
	{begins: "Invalid API key", class: failure.AuthFailure, advice: api.WithKey},
	{begins: "Access denied", class: failure.AuthFailure},
	{begins: "Private repositories require", class: failure.AuthFailure},
	{begins: "Rate limit exceeded", class: failure.RateLimited, advice: "this server does not pass on for how long"},
	{begins: "Rate limited or quota exceeded", class: failure.RateLimited},
	{begins: "Monthly quota exceeded", class: failure.RateLimited},
	{begins: "Monthly spending limit", class: failure.RateLimited},
	{begins: "No libraries found", code: noLibraries},
	{begins: "No documentation libraries found", code: noLibraries},
	{begins: "The library you are trying to access does not exist", code: "library_not_found"},
	{begins: `Library "`, holds: `" not found`, code: "library_not_found"},
	{begins: `Tag "`, holds: `" not found for library`, code: "tag_not_found"},
	{begins: "Could not fetch documentation snippets", code: "no_snippets_found"},
	{begins: "Documentation not found or not finalized", code: "no_snippets_found"},
	{begins: "Library /", holds: " not finalized yet", code: "library_not_finalized"},
	{begins: "Library /", holds: redirected, code: "library_redirected"},
	{begins: "Library /", holds: " is too large to process", code: "library_too_large"},
	{begins: "Library /", holds: " has no or too few snippets", code: "no_code_found"},
	{begins: "Invalid library ID format", class: failure.InvalidArguments},
	{begins: "Library name is required", class: failure.InvalidArguments},
	{begins: "Error searching libraries: ", holds: "TimeoutError", class: failure.Timeout},
	{begins: "Error searching libraries: ", class: failure.ConnectionRefused, advice: offline},
	{begins: "Error fetching library context.", holds: "TimeoutError", class: failure.Timeout},
	{begins: "Error fetching library context.", class: failure.ConnectionRefused, advice: offline},
	{begins: "Request timed out", class: failure.Timeout},
	{begins: "Search failed", class: failure.ServerError},
	{begins: "An error occurred while processing your request", class: failure.ServerError},
	{begins: "Request failed with status ", class: failure.ServerError},
}

const (
	noLibraries = "no_libraries_found"
	redirected  = " has been redirected to this library: "
	offline     = "the server could not reach the API; look at its network, proxy and CONTEXT7_API_URL"
)

// longest is how long such a text may be: documentation may begin with the same
// words, but not end so soon.
const longest = 1 << 10

// reported reads a text that means that nothing was found or read: a
// *failure.Failure or a *library.Refusal. Nil when it is what was asked for.
func reported(text string) error {
	if len(text) > longest {
		return nil
	}
	said := text
	// A library that is not ready is status 202, which counts as a success, body and all.
	if body := gjson.Parse(text); body.IsObject() && body.Get("error").Type == gjson.String && body.Get("message").Type == gjson.String {
		said = body.Get("message").Str
	}
	for _, l := range lines {
		if strings.HasPrefix(said, l.begins) && strings.Contains(said, l.holds) {
			return l.meaning(said, text)
		}
	}
	return nil
}

func (l line) meaning(said, raw string) error {
	said = strings.TrimRight(said, ". ")
	if l.class == failure.Unknown {
		return &library.Refusal{Code: l.code, Text: said}
	}
	f := failure.New(l.class, failure.Answered, "%s", said)
	if l.advice != "" {
		f.Message += ": " + l.advice
	}
	f.Origin, f.UpstreamData = failure.OriginUpstream, []byte(raw)
	return f
}

// movedTo is the library that a text of a redirect names; empty when it is none.
func movedTo(text string) string {
	_, to, _ := strings.Cut(text, redirected)
	return strings.TrimRight(to, ". ")
}

// heading begins the list of libraries, rule parts two of them.
const (
	heading = "Available Libraries:"
	rule    = "\n----------\n"
)

// libraries reads the list that resolve-library-id answers with. Lines it does
// not know are left out, and so is a library without an id.
func libraries(text string) []library.Library {
	var list []library.Library
	for part := range strings.SplitSeq(strings.TrimPrefix(text, heading), rule) {
		var l library.Library
		for row := range strings.Lines(part) {
			name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(row), "- "), ": ")
			switch name {
			case "Title":
				l.Title = value
			case "Context7-compatible library ID":
				l.ID = value
			case "Description":
				l.Description = value
			case "Code Snippets":
				l.Snippets, _ = strconv.Atoi(value)
			case "Source Reputation":
				l.Trust = map[string]float64{"High": 7, "Medium": 4}[value] // the least that is called so
			case "Benchmark Score":
				l.Benchmark, _ = strconv.ParseFloat(value, 64)
			case "Versions":
				l.Versions = strings.Split(value, ", ")
			}
		}
		if strings.HasPrefix(l.ID, "/") {
			list = append(list, l)
		}
	}
	return list
}
