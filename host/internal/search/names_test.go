package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/name"
)

// index of servers, each "server: tool tool ...".
func indexOf(servers ...string) *Index {
	index := new(Index)
	for _, line := range servers {
		server, tools, _ := strings.Cut(line, ":")
		s := Server{Name: server}
		for _, n := range strings.Fields(tools) {
			s.Tools = append(s.Tools, Tool{Name: n, Wire: name.Wire(server, n), Description: "It does something useful."})
		}
		index.Put(s)
	}
	return index
}

func search(index *Index, query string, opt Options) string {
	hits, _ := index.Search(query, opt)
	var names []string
	for _, h := range hits {
		names = append(names, name.Join(h.Server, h.Tool))
	}
	return strings.Join(names, " ")
}

func TestNames(t *testing.T) {
	long := strings.Repeat("very_", 20) + "long"
	index := indexOf(
		"github: create_issue list_issues search_code search get_me",
		"gitlab: create_issue merge search",
		"files: read_file Read read readFile write.file",
		"odd: a/b ++ 查询天气 report_20240131 "+long,
	)
	for _, c := range []struct{ query, want string }{
		// one name, whatever its spelling: first
		{"create_issue", "github/create_issue gitlab/create_issue"},
		{"gitlab/create_issue", "gitlab/create_issue"},
		{"gitlab__create_issue", "gitlab/create_issue"},
		{"gitlab.create_issue", "gitlab/create_issue"},
		{"GitLab create issue", "gitlab/create_issue"},
		{" CreateIssue ", "github/create_issue gitlab/create_issue"},
		{"odd/a/b", "odd/a/b"},
		{"++", "odd/++"},
		{"查询天气", "odd/查询天气"},
		{name.Wire("odd", "查询天气"), "odd/查询天气"},
		{name.Wire("odd", "report_20240131"), "odd/report_20240131"},
		{name.Wire("odd", long), "odd/" + long},
		{long, "odd/" + long},
		// to the letter beats alike
		{"Read", "files/Read"},
		{"read", "files/read"},
		{"READ", "files/Read files/read"},
		{"read_file", "files/read_file"},
		{"readFile", "files/readFile"},
		{"read file", "files/readFile files/read_file"},
		{"write.file", "files/write.file"},
	} {
		hits, _ := index.Search(c.query, Options{Limit: 100})
		want := strings.Fields(c.want)
		var got []string
		for _, h := range hits[:min(len(want), len(hits))] {
			got = append(got, name.Join(h.Server, h.Tool))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v first", c.query, got, want)
		}
		for _, h := range hits {
			if h.Score != math.Round(h.Score*1e4)/1e4 {
				t.Errorf("%q: a score of %g has more digits than it means", c.query, h.Score)
			}
		}
		if len(hits) > len(want) && hits[len(want)].Score >= hits[len(want)-1].Score {
			t.Errorf("%q: others score as much", c.query)
		}
	}
}

func TestLists(t *testing.T) {
	index := indexOf(
		"github: create_issue list_issues search_code fetch search get_me a1 a2 a3 a4 a5 a6",
		"gitlab: create_issue merge list_issues",
	)
	for _, c := range []struct{ query, want string }{
		{"get_me, search_code", "github/get_me github/search_code"},
		{"search_code,get_me", "github/search_code github/get_me"},
		{"search_code get_me", "github/search_code github/get_me"},
		{"search_code get_me search_code", "github/search_code github/get_me"},
		{"`gitlab/merge`, `github__get_me`", "gitlab/merge github/get_me"},
		{"[\"get_me\", \"merge\"]", "github/get_me gitlab/merge"},
		{"get_me\nmerge", "github/get_me gitlab/merge"},
		{"select:merge,get_me", "gitlab/merge github/get_me"},
		{"select:fetch", "github/fetch"},
		{"search,fetch", "github/search github/fetch"},
		{"get_me、merge", "github/get_me gitlab/merge"},
		{"create_issue, merge", "github/create_issue gitlab/create_issue gitlab/merge"},
		// more than DefaultLimit, and none is left out
		{"a6,a5,a4,a3,a2,a1", "github/a6 github/a5 github/a4 github/a3 github/a2 github/a1"},
	} {
		if got := search(index, c.query, Options{}); got != c.want {
			t.Errorf("%q: %s, want %s", c.query, got, c.want)
		}
	}
	if got := search(index, "a6,a5,a4", Options{Limit: 2}); got != "github/a6 github/a5" {
		t.Errorf("a limit does not hold: %s", got)
	}
	// Plain words may be meant as words: others follow.
	if got := search(index, "search fetch", Options{Limit: 3}); got != "github/search github/fetch github/search_code" {
		t.Error(got)
	}
	if got := search(index, "merge, list_issues", Options{Server: "gitlab"}); got != "gitlab/merge gitlab/list_issues" {
		t.Error(got)
	}
	// One name of the list is wrong: the right one is first, and it is a search again.
	if got := search(index, "get_me, get_mee_not", Options{Limit: 1}); got != "github/get_me" {
		t.Error(got)
	}
}

func TestNameWithinQuery(t *testing.T) {
	index := new(Index)
	s := Server{Name: "desk"}
	for i := range 30 { // all of them better by their words
		s.Tools = append(s.Tools, Tool{Name: fmt.Sprintf("customer_report_%c", 'a'+i%26), Description: "Print the report that the customer asked for, find the customer"})
	}
	s.Tools = append(s.Tools, Tool{Name: "get_x9"}, Tool{Name: "fetch"}, Tool{Name: "查询_x"})
	index.Put(s)
	for query, want := range map[string]string{
		"use get_x9 to print the report for the customer": "desk/get_x9",
		"print the customer report (desk/get_x9)":         "desk/get_x9",
		"customer report: desk__get_x9.":                  "desk/get_x9",
		"the customer's report with getX9?":               "desk/get_x9",
		"find the customer report with `fetch`":           "desk/fetch",
		"find the customer report with \"fetch\", please": "desk/fetch",
		"print customer report 用get_x9工具查询":               "desk/get_x9",
		"customer report 「查询_x」":                          "desk/查询_x",
	} {
		if got := search(index, query, Options{Limit: 1}); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	v := index.Snapshot().view(Options{})
	for _, query := range []string{"print the report and fetch the customer", "use get_x77 then", "x9, get"} {
		if got := v.names(query).tools; got != nil {
			t.Errorf("%q names %v", query, got)
		}
	}
}
