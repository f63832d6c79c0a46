package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/websearch/internal/fakesearch"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestResearchCompany(t *testing.T) {
	f := fakesearch.Start(t, "serper")
	p := serve(t, `{"serper":{"url":"`+f.URL+`","key":"`+fakesearch.Key+`"}}`)
	r := mustCall(t, p, "research_company", `{"company":"Acme","industry":"machine tools"}`)
	if !r.Get(`_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("not labelled as written by strangers: %s", r.Get("_meta").Raw)
	}
	got := r.Get("structuredContent")
	for member, want := range map[string]string{
		"available": "true", "sources_used": `["serper"]`, "missing": "[]", "company": `"Acme"`,
		"web_search_results.#": "1", "company_news.#": "1", "competitor_info.#": "1", "industry_trends.#": "1", "company_news.0.kind": `"news"`,
	} {
		if raw := got.Get(member).Raw; raw != want {
			t.Errorf("%s is %s, want %s", member, raw, want)
		}
	}
	sent := map[string]bool{}
	for _, r := range f.Seen() {
		sent[fmt.Sprint(r.Path, " ", r.Params["q"], " ", r.Params["tbs"])] = true
	}
	for _, want := range []string{
		"/search Acme machine tools <nil>", "/news Acme qdr:m", "/search Acme competitors alternatives <nil>",
		fmt.Sprintf("/search machine tools trends %d qdr:y", time.Now().UTC().Year()),
	} {
		if !sent[want] {
			t.Errorf("not sent: %s; sent %v", want, sent)
		}
	}
}

func TestResearchDegrades(t *testing.T) {
	bad := fakesearch.SerperBadQuery
	for _, c := range []struct {
		name, config string
		replies      []fakesearch.Reply
		want         string // available, how many members are missing, whether there is a reason
	}{
		{"nothing configured", `{}`, nil, "false 0 true"},
		{"all refuse", "", []fakesearch.Reply{bad, bad, bad}, "false 4 true"},
		{"one refuses", "", []fakesearch.Reply{bad}, "true 2 false"},
	} {
		f := fakesearch.Start(t, "serper")
		f.Next(c.replies...)
		config := c.config
		if config == "" {
			config = `{"serper":{"url":"` + f.URL + `","key":"` + fakesearch.Key + `"}}`
		}
		r := mustCall(t, serve(t, config), "research_company", `{"company":"Acme"}`)
		got := r.Get("structuredContent")
		if s := fmt.Sprint(got.Get("available").Bool(), got.Get("missing.#").Int(), got.Get("reason").String() != ""); s != strings.ReplaceAll(c.want, "  ", " ") || r.Get("isError").Bool() {
			t.Errorf("%s: %s, want %s: %s", c.name, s, c.want, got.Raw)
		}
		if got.Get("web_search_results").Type != gjson.JSON || got.Get("industry_trends.#").Int() != 0 {
			t.Errorf("%s: %s", c.name, got.Raw)
		}
	}
	_, f := call(t, serve(t, `{}`), "research_company", `{"company":" "}`)
	wantFailure(t, f, failure.InvalidArguments, "empty")
}
