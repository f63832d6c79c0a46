package provider

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// answer reads the result of a tool: a list of results in structuredContent or in
// text that is JSON, or text with a line for each part of a result.
func (s *Server) answer(raw []byte) (Answer, *Error) {
	result := gjson.ParseBytes(raw)
	var text strings.Builder
	for _, block := range result.Get("content").Array() {
		if block.Get("type").String() == "text" {
			text.WriteString(block.Get("text").String() + "\n")
		}
	}
	words := strings.TrimSpace(text.String())
	if e := keylessLimit(s.exchange, http.StatusOK, []byte(words)); e != nil {
		return Answer{}, e // tavily-mcp calls it a success
	}
	if result.Get("isError").Type == gjson.True {
		return Answer{}, s.broken(failure.ServerError, failure.Answered, 0, "%s: its tool failed%s", s.name, said(words))
	}
	for _, from := range []gjson.Result{result.Get("structuredContent"), parsed(words)} {
		if list, ok := listOf(from); ok {
			return Answer{Hits: hitsOf(list)}, nil
		}
	}
	hits := labelled(words)
	if len(hits) == 0 && words != "" && !strings.HasPrefix(strings.ToLower(words), "no ") {
		return Answer{}, s.broken(failure.InvalidResult, failure.Answered, 0, "%s: its answer cannot be read as results of a search%s", s.name, said(words))
	}
	return Answer{Hits: hits}, nil
}

func parsed(text string) gjson.Result {
	if !gjson.Valid(text) {
		return gjson.Result{}
	}
	return gjson.Parse(text)
}

// listOf finds the list of results.
func listOf(v gjson.Result) ([]gjson.Result, bool) {
	if v.IsArray() {
		return v.Array(), true
	}
	if !v.IsObject() {
		return nil, false
	}
	for _, path := range []string{"results", "web.results", "data", "organic", "items", "hits", "result"} {
		if l := v.Get(path); l.IsArray() {
			return l.Array(), true
		}
	}
	return nil, false
}

func hitsOf(list []gjson.Result) []Hit {
	var hits []Hit
	for _, r := range list {
		h := Hit{Title: firstOf(r, "title", "name"), URL: firstOf(r, "url", "link", "href"), Snippet: excerptOf(r)}
		h.Published = firstOf(r, "published_date", "publish_date", "publishedDate", "page_age", "date")
		if n := r.Get("score"); n.Type == gjson.Number {
			h.Score = new(n.Num)
		}
		hits = append(hits, h)
	}
	return hits
}

func firstOf(r gjson.Result, names ...string) string {
	for _, n := range names {
		if v := r.Get(n); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

// labelled reads "Title: ...", "URL: ..." and their like, a line each; a title
// begins the next result, and what has no label goes on with the excerpt.
func labelled(text string) []Hit {
	var hits []Hit
	excerpt := false
	for line := range strings.Lines(text) {
		label, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		label, value = strings.ToLower(strings.TrimSpace(label)), strings.TrimSpace(value)
		if ok && label == "title" {
			hits, excerpt = append(hits, Hit{Title: value}), false
			continue
		}
		if len(hits) == 0 {
			continue
		}
		h := &hits[len(hits)-1]
		switch {
		case ok && (label == "url" || label == "link"):
			h.URL, excerpt = value, false
		case ok && (label == "published" || label == "published date" || label == "date"):
			h.Published, excerpt = value, false
		case ok && (label == "text" || label == "highlights" || label == "description" || label == "content" || label == "snippet" || label == "summary"):
			h.Snippet, excerpt = strings.TrimSpace(h.Snippet+" "+value), true
		case ok && (label == "author" || label == "score" || label == "relevance score"):
			excerpt = false
		case excerpt:
			h.Snippet += " " + strings.TrimSpace(line)
		}
	}
	return hits
}
