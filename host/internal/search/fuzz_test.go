package search

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever strangers write, in a tool or in a query: no panic, no more hits than
// asked for, only tools that were put and are kept, in order, the same each time.
func FuzzSearch(f *testing.F) {
	f.Add("create_issue", "Creates an issue", `{"properties":{"title":{"description":"of it"}}}`, "open a ticket", "gh")
	f.Add("查询天气", "天气", `{"$ref":"#"}`, "明天天气, create_issue", "")
	f.Add("a", "\xff\xfe", `{"properties":{"a":{"enum":["x",1]}}`, "`a` \"b\" c_d,e", "x")
	f.Add("HTTPServer2URLs", "e-mail to-do don't", `[]`, "select:a,b", "s-_S")
	f.Fuzz(func(t *testing.T, tool, text, schema, query, server string) {
		var index Index
		index.Put(Server{Name: server, Description: text, Tools: []Tool{
			{Name: tool, Description: text, InputSchema: []byte(schema)},
			{Name: tool + "_2", Title: text, Wire: tool},
			{Name: query, Description: schema},
		}})
		index.Put(Server{Name: "fixed", Tools: []Tool{{Name: "create_issue", Description: "Opens a ticket"}, {Name: "get_weather"}}})
		tools := map[string]map[string]bool{server: {tool: true, tool + "_2": true, query: true}}
		if tools["fixed"] == nil {
			tools["fixed"] = map[string]bool{}
		}
		if server == "fixed" { // it was replaced
			clear(tools["fixed"])
		}
		tools["fixed"]["create_issue"], tools["fixed"]["get_weather"] = true, true

		for limit := range 4 {
			opt := Options{Limit: limit, Keep: func(_, tool string) bool { return tool != "get_weather" }}
			hits, total := index.Search(query, opt)
			if again, n := index.Search(query, opt); n != total || !reflect.DeepEqual(again, hits) {
				t.Fatalf("%v, then %v", hits, again)
			}
			if len(hits) > total || limit > 0 && len(hits) != min(limit, total) || total > index.Snapshot().Len() {
				t.Fatalf("limit %d: %d hits of %d", limit, len(hits), total)
			}
			for i, h := range hits {
				if !tools[h.Server][h.Tool] || h.Tool == "get_weather" {
					t.Fatalf("found %q of %q, which is none of the tools", h.Tool, h.Server)
				}
				if !(h.Score > 0) || i > 0 && h.Score > hits[i-1].Score {
					t.Fatalf("scores are out of order: %v", hits)
				}
			}
		}
		// A name finds its tool.
		if list := strings.ContainsAny(tool, ",;，、；") || strings.HasPrefix(tool, "select:"); !list && tool != "" && tool == strings.TrimSpace(cut(tool, maxName)) {
			hits, _ := index.Search(tool, Options{Server: server})
			if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Tool == tool }) {
				t.Fatalf("%q is not found by its name: %v", tool, hits)
			}
		}
	})
}

// Tokens are no longer than text may be, hold no capitals of ASCII and no spaces,
// and a text that is tokens stays what it is.
func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"createIssue", "don't e-mail", "HTTPServers v2", "查询 ファイル", "\xff", "İß", "ÀÀa", "base64x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokenize(text, func(token string, k kind) {
			if token == "" || strings.ContainsAny(token, " -_./ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
				t.Errorf("%q in %q", token, text)
			}
			if k != char && k != pair && len(token) > maxWord*2 {
				t.Errorf("a token of %d bytes", len(token))
			}
			if utf8.ValidString(text) && !utf8.ValidString(token) {
				t.Errorf("%q is cut within a character", token)
			}
			stem(token)
		})
	})
}
