package question

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/cli/argument"
)

func field(t *testing.T, rules string) *Field {
	t.Helper()
	f, err := ReadForm(context.Background(), json.RawMessage(`{"message":"m","requestedSchema":{"type":"object","properties":{"f":`+rules+`}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &f.Fields[0]
}

func TestRead(t *testing.T) {
	const (
		letters = `{"type":"string","enum":["a","b,c","D"]}`
		titled  = `{"type":"string","oneOf":[{"const":"x-1","title":"One"},{"const":"x-2","title":"Two"}]}`
		legacy  = `{"type":"string","enum":["p1","p2"],"enumNames":["Cat","Dog"]}`
		digits  = `{"type":"string","enum":["3","1"]}`
		many    = `{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"x","title":"Tuna"},{"const":"y","title":"Cod"},{"const":"z","title":"Eel"}]}}`
	)
	for _, c := range []struct{ rules, typed, want string }{ // "" is no value
		{`{"type":"string"}`, `007`, `"007"`},
		{`{"type":"string"}`, `""`, `""`},
		{`{"type":"string"}`, `say "<x>"`, `"say \"<x>\""`},
		{`{"type":"string","minLength":3}`, `ab`, ``},
		{`{"type":"string","minLength":3}`, `日本語`, `"日本語"`},
		{`{"type":"string","maxLength":3}`, `abcd`, ``},
		{`{"type":"string","pattern":"^[A-Z]{2}$"}`, `DE`, `"DE"`},
		{`{"type":"string","pattern":"^[A-Z]{2}$"}`, `de`, ``},
		{`{"type":"string","format":"email"}`, `ann@example.com`, `"ann@example.com"`},
		{`{"type":"string","format":"email"}`, `Ann <ann@example.com>`, ``},
		{`{"type":"string","format":"email"}`, `ann`, ``},
		{`{"type":"string","format":"uri"}`, `urn:x:y`, `"urn:x:y"`},
		{`{"type":"string","format":"uri"}`, `/path`, ``},
		{`{"type":"string","format":"uri"}`, `https://a b`, ``},
		{`{"type":"string","format":"date"}`, `2024-02-29`, `"2024-02-29"`},
		{`{"type":"string","format":"date"}`, `2023-02-29`, ``},
		{`{"type":"string","format":"date-time"}`, `2024-02-29T10:00:00+01:00`, `"2024-02-29T10:00:00+01:00"`},
		{`{"type":"string","format":"date-time"}`, `2024-02-29 10:00`, ``},
		{`{"type":"string","format":"strange"}`, `x`, `"x"`},
		{`{"type":"number"}`, `2.50`, `2.50`},
		{`{"type":"number"}`, `1e999999999`, ``},
		{`{"type":"number"}`, `0x10`, ``},
		{`{"type":"number"}`, `1 2`, ``},
		{`{"type":"integer"}`, `9007199254740993`, `9007199254740993`},
		{`{"type":"integer"}`, `2.5`, ``},
		{`{"type":"integer","minimum":1,"maximum":100}`, `0`, ``},
		{`{"type":"integer","minimum":1,"maximum":100}`, `100`, `100`},
		{`{"type":"boolean"}`, `Yes`, `true`},
		{`{"type":"boolean"}`, `n`, `false`},
		{`{"type":"boolean"}`, `maybe`, ``},
		{letters, `a`, `"a"`},
		{letters, `d`, `"D"`},
		{letters, `2`, `"b,c"`},
		{letters, `4`, ``},
		{letters, `0`, ``},
		{letters, `x`, ``},
		{titled, `Two`, `"x-2"`},
		{titled, `x-1`, `"x-1"`},
		{titled, `1`, `"x-1"`},
		{legacy, `dog`, `"p2"`},
		{digits, `1`, `"1"`},
		{digits, `2`, ``},
		{`{"enum":[1,"1",null]}`, `null`, `null`},
		{many, `1, eel`, `["x","z"]`},
		{many, `x,x`, `["x"]`},
		{many, `1,2,3`, ``},
		{many, `1,5`, ``},
		{`{"type":"array","items":{"enum":["a,b","c"]}}`, `a,b`, `["a,b"]`},
		{`{"type":"array","items":{"type":"string"}}`, `["a"]`, `["a"]`},
		{`{"type":"array","items":{"type":"string"}}`, `[1]`, ``},
		{`{"type":"object","required":["a"]}`, `{"a":1.0}`, `{"a":1.0}`},
		{`{"type":"object","required":["a"]}`, `{}`, ``},
		{`{}`, `x`, ``},
		{`{}`, `{"x":[{"y":"q","y":"r"}]}`, ``},
		{`true`, `"x"`, `"x"`},
	} {
		got, wrong := field(t, c.rules).read(c.typed)
		if wrong != "" {
			got = nil
		}
		if string(got) != c.want || (c.want == "") != (wrong != "") {
			t.Errorf("%s, typed %s: %s (%s), want %s", c.rules, c.typed, got, wrong, c.want)
		}
	}
}

func TestDefaultsThatDoNotFitAreNone(t *testing.T) {
	for rules, want := range map[string]string{
		`{"type":"integer","default":42}`:                                               `42`,
		`{"type":"integer","default":"x"}`:                                              ``,
		`{"type":"integer","maximum":3,"default":4}`:                                    ``,
		`{"type":"string","enum":["a"],"default":"b"}`:                                  ``,
		`{"type":"string","format":"date","default":"soon"}`:                            ``,
		`{"type":"array","items":{"enum":["a","b"]},"default":["b"]}`:                   `["b"]`,
		`{"type":"array","items":{"enum":["a","b"]},"default":["c"]}`:                   ``,
		`{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"}`:           `"x"`,
		`{"type":"string","default":null}`:                                              ``,
		`{"type":"boolean","default":false}`:                                            `false`,
		`{"type":"string","$ref":"https://example.com/never-fetched","default":"kept"}`: `"kept"`,
	} {
		if got := field(t, rules).initial; string(got) != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
}

func TestFormsThatCannotBeShown(t *testing.T) {
	for name, params := range map[string]string{
		"no object":  `{"requestedSchema":[]}`,
		"fields":     `{"requestedSchema":{"properties":{` + manyFields(maxFields+1) + `}}}`,
		"required":   `{"requestedSchema":{"required":["x"],"properties":{` + manyFields(maxFields) + `}}}`,
		"options":    `{"requestedSchema":{"properties":{"f":{"enum":[` + strings.Repeat("1,", maxOptions) + `1]}}}}`,
		"no fields":  `{"requestedSchema":{"properties":"foo"}}`,
		"again":      `{"requestedSchema":{"properties":{` + strings.Repeat(`"a":{},`, maxFields) + `"a":{}}}}`,
		"very large": `{"message":"` + strings.Repeat("x", maxParams) + `"}`,
	} {
		if f, err := ReadForm(context.Background(), json.RawMessage(params)); err == nil {
			t.Errorf("%s: %d fields", name, len(f.Fields))
		}
	}
}

func manyFields(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"f%d":{}`, i))
	}
	return strings.Join(all, ",")
}

// person types lines, and reads what is said.
type person struct {
	bytes.Buffer
	lines []string
}

func (p *person) Line(_ context.Context, prompt string) (string, error) {
	p.WriteString(prompt)
	if len(p.lines) == 0 {
		return "", io.EOF
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	p.WriteString(line + "\n")
	return line, nil
}

const threeFields = `{"message":"Who are you?\nSay it\u001b[2J.","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","title":"Name\u202e","description":"in full","minLength":2},
	"age":{"type":"integer","minimum":0,"default":42},
	"colour":{"type":"string","enum":["red","blue"]}},"required":["name","colour"]}}`

func TestForm(t *testing.T) {
	const sure = `{"message":"sure?"}`
	for name, c := range map[string]struct {
		params string
		typed  []string
		want   string // "" is that there was no answer
	}{
		"filled in":          {threeFields, []string{"", "y", "Ann", "", "2", "", "y"}, `{"action":"accept","content":{"name":"Ann","age":42,"colour":"blue"}}`},
		"put right":          {threeFields, []string{"y", "", "A", "Ann", "-1", "x", "7", "", "green", "red", "y"}, `{"action":"accept","content":{"name":"Ann","age":7,"colour":"red"}}`},
		"looked over":        {threeFields, []string{"y", "Ann", "7", "red", "e", "", "8", "", "y"}, `{"action":"accept","content":{"name":"Ann","age":8,"colour":"red"}}`},
		"declined":           {threeFields, []string{"n"}, `{"action":"decline"}`},
		"declined at last":   {threeFields, []string{"y", "Ann", "7", "red", "n"}, `{"action":"decline"}`},
		"closed":             {threeFields, []string{"c"}, `{"action":"cancel"}`},
		"closed at last":     {threeFields, []string{"y", "Ann", "7", "red", "what", "c"}, `{"action":"cancel"}`},
		"left":               {threeFields, []string{"y", "Ann"}, ``},
		"a yes":              {sure, []string{"", "y"}, `{"action":"accept","content":{}}`},
		"a no":               {sure, []string{"e", "no"}, `{"action":"decline"}`},
		"optional left out":  {`{"requestedSchema":{"properties":{"a":{"type":"string"},"b":{"type":"number"}}}}`, []string{"", "y", "", "", "", "y"}, `{"action":"accept","content":{}}`},
		"required, no rules": {`{"requestedSchema":{"properties":{},"required":["a"]}}`, []string{"y", "", "x", "1.0", "y"}, `{"action":"accept","content":{"a":1.0}}`},
		"given twice":        {`{"requestedSchema":{"properties":{"a":{"type":"string"},"a":{"type":"number"}}}}`, []string{"y", "1", "y"}, `{"action":"accept","content":{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ReadForm(context.Background(), json.RawMessage(c.params))
			if err != nil {
				t.Fatal(err)
			}
			p := &person{lines: c.typed}
			got, err := (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"srv", "tool"}, f)
			if c.want == "" {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s, %v", got, err)
				}
				return
			}
			if err != nil || string(got) != c.want || len(p.lines) > 0 {
				t.Errorf("%s, %v, %d lines left; want %s\n%s", got, err, len(p.lines), c.want, p.String())
			}
			if strings.ContainsAny(p.String(), "\x1b\u202e") {
				t.Errorf("acts on the terminal: %q", p.String())
			}
		})
	}
}

func TestFormShowsWhatAPersonNeeds(t *testing.T) {
	f, err := ReadForm(context.Background(), json.RawMessage(threeFields))
	if err != nil {
		t.Fatal(err)
	}
	p := &person{lines: []string{"y", "Ann", "x", "7", "1", "y"}}
	if _, err := (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"srv\x1b", "tool"}, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"The server srv\\x1b asks, before tool goes on:\n  Who are you?\n  Say it\\x1b[2J.\n",
		"It is a form of 3 fields. Fill it in? [y]es, [n]o (decline), [c]ancel the question; Ctrl-C cancels the call: y\n",
		"\n(1/3) Name\\u202e: in full\nname (text, at least 2 characters, required): Ann\n",
		"\n(2/3) age\nage (integer, at least 0) [42]: x\n  that is no number; write it like 7 or 2.5\nage (integer, at least 0) [42]: 7\n",
		"\n(3/3) colour\n  1) red\n  2) blue\ncolour (one of these, required): 1\n",
		"\nThis is what srv\\x1b gets:\n  name: \"Ann\"\n  age: 7\n  colour: \"red\"\nSend it? [y]es, [e]dit, [n]o (decline), [c]ancel the question; Ctrl-C cancels the call: y\n",
	} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("%q is not in\n%s", want, p.String())
		}
	}
	if strings.Contains(p.String(), "passwords") {
		t.Error("warns of nothing")
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	params := fmt.Sprintf(`{"message":%q,"requestedSchema":{"properties":{"%s":{"title":"%s","enum":["%s"%s]}}}}`, strings.Repeat("l\n", 100)+long, long, long, long, strings.Repeat(`,"y"`, 500))
	f, err := ReadForm(context.Background(), json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	p := &person{lines: []string{"y", "y", "y"}}
	if _, err := (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"s", "t"}, f); err != nil {
		t.Fatal(err)
	}
	if p.Len() > 16<<10 || len(f.String()) > 1<<10 {
		t.Errorf("%d bytes are shown, %d in a notice", p.Len(), len(f.String()))
	}
}

func TestSecretsAreWarnedOf(t *testing.T) {
	for name, want := range map[string]bool{"api_key": true, "Access Token": true, "password": true, "name": false, "keyboard": false, "cvv": true, "Spinner": false} {
		f, err := ReadForm(context.Background(), json.RawMessage(fmt.Sprintf(`{"requestedSchema":{"properties":{%q:{"type":"string"}}}}`, name)))
		if err != nil {
			t.Fatal(err)
		}
		p := &person{lines: []string{"n"}}
		_, _ = (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"s", "t"}, f)
		if got := strings.Contains(p.String(), "must not ask for passwords"); got != want {
			t.Errorf("%s: warned %t", name, got)
		}
	}
}

func TestSecretsAreWarnedOfHoweverTheyAreAskedFor(t *testing.T) {
	for rules, want := range map[string]bool{
		`{"type":"string","description":"Your API key"}`:                  true,
		`{"title":"Password"}`:                                            true,
		`{"type":"integer","title":"PIN"}`:                                true,
		`{"type":"integer","title":"Max tokens"}`:                         false,
		`{"type":"boolean","title":"Reset the password"}`:                 false,
		`{"type":"string","title":"Which secret","enum":["prod","test"]}`: false,
	} {
		if got := (&Form{Fields: []Field{*field(t, rules)}}).secretive(); got != want {
			t.Errorf("%s: warned %t", rules, got)
		}
	}
}

// A form whose reading is called off is not read to its end.
func TestReadingIsCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := ReadForm(ctx, json.RawMessage(threeFields)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", f, err)
	}
}

// Whatever is sent has been shown to its last character, or is not taken.
func TestWhatIsSentWasShown(t *testing.T) {
	long := strings.Repeat("D", maxValue-3) + "E" // and the quotes
	for name, c := range map[string]struct{ rules, typed, want string }{
		"a long default":     {`{"type":"string","default":"` + long + `"}`, "", `{"f":"` + long + `"}`},
		"one that is longer": {`{"type":"string","default":"D` + long + `"}`, "", `{}`},
		"a long choice":      {`{"enum":["` + long + `"]}`, "1", `{"f":"` + long + `"}`},
		"a longer one":       {`{"enum":["D` + long + `"]}`, "1", `{}`},
	} {
		f := &Form{Fields: []Field{*field(t, c.rules)}}
		p := &person{lines: []string{"y", c.typed, "y"}}
		if c.want == "{}" && c.typed != "" {
			p.lines = []string{"y", c.typed, "", "y"}
		}
		got, err := (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"s", "t"}, f)
		if err != nil || string(got) != `{"action":"accept","content":`+c.want+`}` {
			t.Errorf("%s: %.200s, %v", name, got, err)
		}
		_, review, _ := strings.Cut(p.String(), "This is what s gets:")
		if shown := strings.Contains(review, `"`+long+`"`); shown != (c.want != "{}") {
			t.Errorf("%s: shown %t", name, shown)
		}
	}
}

func TestLinesThatAreLeftOutAreCounted(t *testing.T) {
	if got := lines(strings.Repeat("a\n", 200_000)); !strings.HasSuffix(got, "  ... and 199960 more lines\n") {
		t.Error(got)
	}
	got := lines(strings.Repeat("b", maxMessage+7) + strings.Repeat("\na", 2*maxLines))
	if !strings.Contains(got, fmt.Sprintf("b... (%d more characters)\n", 7+2*(maxLines-1))) || !strings.HasSuffix(got, fmt.Sprintf("  ... and %d more lines\n", maxLines+1)) {
		t.Error(got)
	}
}

func TestAllWarningsOfAnAddress(t *testing.T) {
	a, err := ReadAddress(json.RawMessage(`{"url":"http://xn--e1awd7f.com/"}`))
	if err != nil || !strings.Contains(a.warning(), "xn--") || !strings.Contains(a.warning(), "not encrypted") {
		t.Errorf("%v: %s", err, a.warning())
	}
}

func TestVisit(t *testing.T) {
	params := json.RawMessage(`{"mode":"url","message":"Log in\u001b","url":"https://example.com/a?b=c%20d","elicitationId":"1"}`)
	for typed, c := range map[string]struct{ want, opened string }{
		"y": {`{"action":"accept"}`, "https://example.com/a?b=c%20d"},
		"n": {`{"action":"decline"}`, ""},
		"c": {`{"action":"cancel"}`, ""},
		"o": {"", ""}, // it has not been opened yet
		"":  {"", ""},
	} {
		a, err := ReadAddress(params)
		if err != nil {
			t.Fatal(err)
		}
		opened := ""
		p := &person{lines: []string{typed}}
		visitor := &Person{Out: p, Line: p.Line, Open: func(url string) error { opened += url; return nil }}
		got, err := visitor.Visit(t.Context(), Asking{"s", "t"}, a)
		if string(got) != c.want || (err != nil) != (c.want == "") || opened != c.opened {
			t.Errorf("%q: %s, %v, opened %q", typed, got, err, opened)
		}
		if !strings.Contains(p.String(), "  Log in\\x1b\n  address: https://example.com/a?b=c%20d\n  host:    example.com\n") {
			t.Error(p.String())
		}
		if typed != "y" {
			continue
		}
		// A server of 2026-07-28 asks again until its page is done.
		p.lines = []string{"y", "o"}
		for _, want := range []string{c.opened, c.opened + c.opened} {
			if got, err := visitor.Visit(t.Context(), Asking{"s", "t"}, a); string(got) != c.want || err != nil || opened != want {
				t.Errorf("again: %s, %v, opened %q", got, err, opened)
			}
		}
	}
}

func TestVisitWithoutABrowser(t *testing.T) {
	a, err := ReadAddress(json.RawMessage(`{"url":"http://example.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &person{lines: []string{"y"}}
	got, err := (&Person{Out: p, Line: p.Line, Open: func(string) error { return errors.New("no display") }}).Visit(t.Context(), Asking{"s", "t"}, a)
	if string(got) != `{"action":"accept"}` || err != nil || !strings.Contains(p.String(), "No browser can be opened here: no display. Open the address above yourself.") {
		t.Errorf("%s %v\n%s", got, err, p.String())
	}
	if !strings.Contains(p.String(), "not encrypted") {
		t.Error(p.String())
	}
}

func TestAddressesThatAreNotOpened(t *testing.T) {
	for _, url := range []string{
		"", "file:///etc/passwd", "javascript:alert(1)", "https:///x", "https://:443/", "https:x", "//example.com/", "example.com",
		"https://example.com@evil.example/", "https://a\u0000b", "https://a b/", "ftp://example.com/", "https://[", "https://x/" + strings.Repeat("y", maxURL),
	} {
		params, _ := json.Marshal(map[string]string{"url": url})
		if a, err := ReadAddress(params); err == nil {
			t.Errorf("%q would be opened: %v", url, a.URL)
		}
	}
	for url, warned := range map[string]bool{
		"https://example.com/": false, "HTTPS://EXAMPLE.com": false, "http://localhost:1/": true, "https://xn--e1awd7f.com/": true, "https://a.XN--80ak6aa92e.com/": true, "https://ex\u0430mple.com/": true,
	} {
		params, _ := json.Marshal(map[string]string{"url": url})
		a, err := ReadAddress(params)
		if err != nil || (a.warning() != "") != warned {
			t.Errorf("%q: %v, warned %q", url, err, a.warning())
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		words  string
		want   string
		named  bool
		unfit  string
		unused string
	}{
		{"name=Ann colour=red", `{"name":"Ann","age":42,"colour":"red"}`, true, "", "[]"},
		{"name=Ann colour=red age=007", "", true, "age", "[]"},
		{"name=Ann colour=red age=hunter2", "", true, "age: the value of its --answer does not fit; it takes integer, at least 0", "[]"},
		{"name=Ann colour=red age:=-4711", "", true, "age: the value of its --answer does not fit; it takes integer, at least 0, by its rule minimum", "[]"},
		{"name=Ann colour=red age:=7", `{"name":"Ann","age":7,"colour":"red"}`, true, "", "[]"},
		{"name=Ann", "", true, "colour is required", "[]"},
		{"name=Ann colour=1", "", true, "colour: ", "[]"},
		{"name=A colour=red", "", true, "name: ", "[]"},
		{"nam=Ann", "", false, "", "[nam]"},
		{"nam=Ann nam=x name=Ann colour=blue", `{"name":"Ann","age":42,"colour":"blue"}`, true, "", "[nam]"},
	} {
		var words []argument.Word
		for _, text := range strings.Fields(c.words) {
			w, err := argument.ParseWord(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, w)
		}
		f, err := ReadForm(context.Background(), json.RawMessage(threeFields))
		if err != nil {
			t.Fatal(err)
		}
		a := NewAnswers(words)
		content, named, unfit := a.Fill(f)
		if string(content) != c.want || named != c.named || !strings.HasPrefix(unfit, c.unfit) || (unfit == "") != (c.unfit == "") {
			t.Errorf("%s: %s %t %q", c.words, content, named, unfit)
		}
		for _, w := range words {
			if w.Text != "" && len(w.Text) > 1 && strings.Contains(unfit, w.Text) {
				t.Errorf("%s: says %q", c.words, unfit)
			}
		}
		if got := fmt.Sprint(a.Unused()); got != c.unused {
			t.Errorf("%s: unused %s", c.words, got)
		}
	}
}

// Whatever a server sends, nothing of it acts on the terminal, and what is sent back is
// JSON.
func FuzzForm(f *testing.F) {
	f.Add([]byte(threeFields), "y\nAnn\n7\nred\ny")
	f.Add([]byte(`{"requestedSchema":{"properties":{"a":{"type":"array","items":{"enum":["\u001b"]}}}}}`), "y\n1\ny")
	f.Fuzz(func(t *testing.T, params []byte, typed string) {
		if !json.Valid(params) {
			return // the wire takes nothing else
		}
		form, err := ReadForm(context.Background(), params)
		if err != nil {
			return
		}
		p := &person{lines: strings.Split(strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' || r > 0x7e {
				return -1
			}
			return r
		}, typed), "\n")}
		got, err := (&Person{Out: p, Line: p.Line}).Form(t.Context(), Asking{"s", "t"}, form)
		if err == nil && !json.Valid(got) {
			t.Errorf("answers %q", got)
		}
		for _, r := range p.String() {
			if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
				t.Fatalf("%q acts on the terminal", p.String())
			}
		}
	})
}
