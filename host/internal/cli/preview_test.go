package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

func TestToolsSearch(t *testing.T) {
	servers := []host.Server{{Name: "git_hub", State: "ready"}, {Name: "down", State: "failed", Error: "gone"}}
	answer := `{"tools":[{"name":"git_hub/a","wireName":"git_hub__a","description":"Does a.\nAnd b.","exposure":"deferred","score":1.50,"inputSchema":{"n":1.0}}],"total":3,"pending":[{"server":"down","state":"failed"}]}`
	h := &fakeHost{listing: host.Listing{Servers: servers}, found: json.RawMessage(answer)}
	c := command{host: h}
	if code := c.run(t, "tools", "search", "do", "a", "--json", "--server", "GIT-hub", "--limit", "1", "--config", "x"); code != 0 {
		t.Fatal(code, c.err.String())
	}
	if c.out.String() != answer+"\n" {
		t.Errorf("got %s, want the answer byte for byte", c.out.String())
	}
	if want := (host.SearchQuery{Query: "do a", Server: "git_hub", Limit: 1}); h.searched != want {
		t.Errorf("asked %+v, want %+v", h.searched, want)
	}
	c = command{host: h}
	c.run(t, "tools", "search", "a", "--config", "x")
	if want := "NAME       EXPOSURE  DESCRIPTION\ngit_hub/a  deferred  Does a.\n"; c.out.String() != want {
		t.Errorf("got %q, want %q", c.out.String(), want)
	}
	for _, want := range []string{"2 more match", "down: gone"} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("stderr %q lacks %q", c.err.String(), want)
		}
	}
	// Nobody answered: nothing found is not the whole truth.
	h = &fakeHost{listing: host.Listing{Servers: servers[1:]}, found: json.RawMessage(`{"tools":[],"total":0,"pending":[]}`)}
	c = command{host: h}
	if code := c.run(t, "tools", "search", "a", "--config", "x"); code != 4 || c.out.Len() > 0 || !strings.Contains(c.err.String(), "nothing found") {
		t.Errorf("%d: %q, %q", code, c.out.String(), c.err.String())
	}
	for _, args := range [][]string{{}, {" "}, {"a", "--limit", "0"}, {"a", "--limit", "51"}, {"a", "--server", "*"}, {"a", "--wait", "0s"}} {
		c := command{host: h}
		if code := c.run(t, append([]string{"tools", "search", "--config", "x"}, args...)...); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

func TestInstructions(t *testing.T) {
	h := &fakeHost{listing: host.Listing{Servers: []host.Server{{Name: "s", State: "ready"}}}}
	c := command{host: h}
	if code := c.run(t, "instructions", "--config", "x"); code != 0 || c.out.String() != "told\x1b\n" {
		t.Errorf("%d: %q", code, c.out.String())
	}
	c = command{host: h, terminal: true}
	if c.run(t, "instructions", "--config", "x"); c.out.String() != `told\x1b`+"\n" {
		t.Errorf("on a terminal: %q", c.out.String())
	}
}

func TestTokens(t *testing.T) {
	for bytes, want := range map[int]int64{0: 0, 1: 1, 46: 10, 47: 11, 460_000: 100_000} {
		if got := tokens(bytes); got != want {
			t.Errorf("%d bytes are %d tokens, want %d", bytes, got, want)
		}
	}
	definition := json.RawMessage(strings.Repeat("x", 92))
	h := &fakeHost{listing: host.Listing{
		Servers: []host.Server{{Name: "s", State: "ready"}, {Name: "t", State: "ready"}},
		Tools:   []host.Tool{{Name: "s/a", Server: "s", Exposure: host.Deferred, Definition: definition}},
	}}
	c := command{host: h}
	if code := c.run(t, "tools", "list", "--tokens", "--json", "--config", "x"); code != 0 {
		t.Fatal(code, c.err.String())
	}
	for path, want := range map[string]string{
		"tools.0.tokens": "20",
		"tokens":         `{"estimated":true,"configured":2,"direct":18,"deferred":2,"codemode":2}`,
	} {
		if got := gjson.Get(c.out.String(), path).Raw; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	c = command{host: h}
	c.run(t, "tools", "list", "--tokens", "--config", "x")
	want := "NAME  EXPOSURE  TOKENS  DESCRIPTION\ns/a   deferred  20\n\nA CLIENT'S PROMPT  TOKENS\nas configured      2\nall direct         18\nall deferred       2\nall codemode       2\n"
	if c.out.String() != want {
		t.Errorf("got %q, want %q", c.out.String(), want)
	}
	if !strings.Contains(c.err.String(), "estimated") {
		t.Errorf("stderr %q does not say that it is an estimate", c.err.String())
	}
}
