package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
)

// completing runs the completion of words and returns its lines, without the
// directive at the end.
func completing(t *testing.T, h *fakeHost, words ...string) (lines, directive string) {
	t.Helper()
	c := command{host: h, environmentValue: "x"}
	if code := c.run(t, append([]string{"__complete"}, words...)...); code != 0 || c.err.Len() > 0 {
		t.Errorf("%q: exit code %d, stderr %s", words, code, c.err.String())
	}
	lines, directive, ok := strings.Cut("\n"+c.out.String(), "\n:")
	if !ok {
		t.Errorf("%q: no directive: %s", words, c.out.String())
	}
	return strings.TrimPrefix(lines, "\n"), strings.TrimSpace(directive)
}

func schemaTool(schema string) *fakeHost {
	return &fakeHost{tool: &host.Tool{Name: "s/t", InputSchema: json.RawMessage(schema)}}
}

const everyKind = `{"properties":{
	"free":{"type":"string","description":"any\n text\u001b[2J\u202e  at all"},
	"colour":{"enum":["red","deep blue",5,null,"7"]},
	"on":{"type":"boolean","title":"On?"},
	"tags":{"type":"array","items":{"enum":["a","b","c"]}},
	"maybe":{"anyOf":[{"enum":["x","y"]},{"type":"null"}]},
	"fixed":{"const":9007199254740993},
	"at":{"enum":["@home","away"]},
	"list":{"type":["array","string"]},
	"ref":{"$ref":"#/$defs/level"},
	"object":{"type":"object"}
},"required":["ref","on"],"$defs":{"level":{"type":"string","enum":["low","high"],"description":"how much"}}}`

func TestCompletionOfArguments(t *testing.T) {
	for _, test := range []struct {
		words []string // after SERVER/TOOL
		want  []string
	}{
		{[]string{""}, []string{"on=\tOn?", "ref=\thow much", "free=\tany text[2J at all", "colour=\tstring|integer|null", "tags=\tstring[]",
			"maybe=\tstring|null", "fixed=\tinteger", "at=\tstring", "list=\tstring|array", "object=\tobject"}},
		{[]string{"o"}, []string{"on=\tOn?", "object=\tobject"}},
		{[]string{"on=true", "object:={}", "o"}, nil},
		{[]string{"tags=a", "t"}, []string{"tags=\tstring[]"}},
		{[]string{"list=a", "l"}, []string{"list=\tstring|array"}},
		{[]string{"colour="}, []string{"colour=red", "colour=deep blue", "colour=5", "colour=null"}}, // "7" would be a number
		{[]string{"colour=d"}, []string{"colour=deep blue"}},
		{[]string{"on="}, []string{"on=true", "on=false"}},
		{[]string{"tags=a", "tags="}, []string{"tags=b", "tags=c"}},
		{[]string{"maybe="}, []string{"maybe=x", "maybe=y"}},
		{[]string{"fixed="}, []string{"fixed=9007199254740993"}},
		{[]string{"at="}, []string{"at=away"}}, // @home would be a file
		{[]string{"ref="}, []string{"ref=low", "ref=high"}},
		{[]string{"free="}, nil},
		{[]string{"free=x", "--json", "--retry", "safe", "o"}, []string{"on=\tOn?", "object=\tobject"}},
		{[]string{"colour:="}, nil},
		{[]string{"nosuch="}, nil},
		{[]string{"=x"}, nil},
	} {
		got, _ := completing(t, schemaTool(everyKind), append([]string{"tools", "call", "s/t"}, test.words...)...)
		if want := strings.Join(test.want, "\n"); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", test.words, got, want)
		}
	}
}

func TestCompletionOffersNothingThatAShellWouldRun(t *testing.T) {
	for _, evil := range []string{"$(reboot)", "`reboot`", "a;b", "a|b", "a&b", "a>b", `a\\b`, `a\"b`, "a'b", "a\\nb", "a\\tb", "a\\u001bb", "\\u202ea",
		"!x", "{a,b}", "~x", "*", "x --config e.toml", "x p=1", "x @f", strings.Repeat("x", maxCandidate+1)} {
		if got, _ := completing(t, schemaTool(`{"properties":{"k":{"enum":["`+evil+`"]}}}`), "tools", "call", "s/t", "k="); got != "" {
			t.Errorf("value %s: offers %q", evil, got)
		}
		if got, _ := completing(t, schemaTool(`{"properties":{"`+evil+`":{}}}`), "tools", "call", "s/t", ""); got != "" {
			t.Errorf("argument %s: offers %q", evil, got)
		}
		var name string
		if err := json.Unmarshal([]byte(`"`+evil+`"`), &name); err != nil {
			t.Fatal(err)
		}
		h := &fakeHost{listing: host.Listing{Servers: []host.Server{{Name: "s"}}, Tools: []host.Tool{{Name: "s/" + name}}}}
		if got, _ := completing(t, h, "tools", "call", "s/"); got != "" {
			t.Errorf("tool %s: offers %q", evil, got)
		}
	}
	for _, odd := range []string{"-x", "a b", "k:", "a=b", "a@b"} {
		if got, _ := completing(t, schemaTool(`{"properties":{"`+odd+`":{}}}`), "tools", "call", "s/t", ""); got != "" {
			t.Errorf("argument %q cannot be written as a word: offers %q", odd, got)
		}
	}
}

func TestCompletionHelpIsOneShortLine(t *testing.T) {
	long := strings.Repeat(`word\n\t`, 200)
	got, _ := completing(t, schemaTool(`{"properties":{"k":{"description":"`+long+`"}}}`), "tools", "call", "s/t", "")
	if len(got) > 100 || strings.Count(got, "\t") != 1 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
}

func TestCompletionIsBounded(t *testing.T) {
	var values strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&values, `"v%d",`, i)
	}
	got, _ := completing(t, schemaTool(`{"properties":{"k":{"enum":[`+values.String()+`"last"]}}}`), "tools", "call", "s/t", "k=")
	if n := strings.Count(got, "\n") + 1; n != maxCandidates {
		t.Errorf("%d candidates", n)
	}

	// Ten references at each level make 10^16 ways through this one.
	var bomb strings.Builder
	for i := range 16 {
		fmt.Fprintf(&bomb, `"d%d":{"anyOf":[%s{}]},`, i, strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/d%d"},`, i+1), 10))
	}
	tool := schemaTool(`{"properties":{"k":{"$ref":"#/$defs/d0"}},"$defs":{` + bomb.String() + `"d16":{"enum":["x"]}}}`)
	if got, _ := completing(t, tool, "tools", "call", "s/t", ""); got != "k=\tany" {
		t.Errorf("got %q", got)
	}
	completing(t, tool, "tools", "call", "s/t", "k=")
}
