package child

import (
	"regexp"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/name"
)

// The prelude's list of names that the language looks up is that of package name.
func TestImplicitNames(t *testing.T) {
	text, err := preludes.ReadFile("tools.js")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)const implicit = new Set\(\[(.*?)\]\)`).FindSubmatch(text)
	if list == nil {
		t.Fatal("there is no list")
	}
	names := regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1)
	for _, n := range names {
		if !name.Implicit(string(n[1])) {
			t.Errorf("%s is no implicit name", n[1])
		}
	}
	if len(names) != 15 {
		t.Errorf("%d names", len(names))
	}
}

func TestOdd(t *testing.T) {
	for _, c := range []struct {
		json string
		want bool
	}{
		{`1`, false}, {`-0`, false}, {`0.1`, false}, {`1e5`, false}, {`1E400`, true}, {`9007199254740991`, false}, {`9007199254740992`, true},
		{`-9007199254740993`, true}, {`"12345678901234567890"`, false}, {`["a\"",12345678901234567890]`, true}, {`"\\",1`, false},
		{`3.141592653589793`, false}, {`3.14159265358979323846`, true}, {`1.10`, false}, {`100000000000000000000.0`, false}, {`5e-324`, false}, {`1e-400`, true},
		{`0.30000000000000004`, false}, {`1234567890.1234567891`, true}, {`{"a":"` + strings.Repeat("9", 30) + `"}`, false}, {`1e99999999999`, true},
	} {
		if got := odd(c.json); got != c.want {
			t.Errorf("odd(%s) is %t", c.json, got)
		}
	}
}

func TestBase64(t *testing.T) {
	for data, ok := range map[string]bool{
		"AA==": true, "AAAA": true, "": false, "A": false, "AA=": false, "AB==": false, "A A=": false, "AA==\n": false, "!!!!": false, "AA==AA==": false, "-_-_": false,
	} {
		if wrong := checkBase64(data); (wrong == "") != ok {
			t.Errorf("%q: %q", data, wrong)
		}
	}
}

func TestUnfence(t *testing.T) {
	for _, c := range []struct {
		source, code string
		before       int
		several      bool
	}{
		{"return 1", "return 1", 0, false},
		{"```js\nreturn 1\n```", "return 1", 1, false},
		{"```js title=\"x\"\nreturn 1\n  ```  \n", "return 1", 1, false},
		{"\n```typescript\r\nreturn 1\r\nx\n```\n", "return 1\r\nx", 2, false},
		{"Here it is:\n\n```ts\nreturn 1\n```\nThat was `it`.", "return 1", 3, false},
		{"```\n\n```", "", 1, false},
		{"```\n```", "", 1, false},
		{"```\na\n```\ntext\n```\nb\n```", "", 0, true},
		{"```js\nreturn 1", "```js\nreturn 1", 0, false},
		{"```js\nreturn 1\n```js\n", "```js\nreturn 1\n```js\n", 0, false},
		{"/*\n```js\nx\n```\n*/ return 1", "/*\n```js\nx\n```\n*/ return 1", 0, false},
		{"/**\n * ```js\n * x\n * ```\n */ return 1", "/**\n * ```js\n * x\n * ```\n */ return 1", 0, false},
		{"\ufeffreturn 1", "return 1", 0, false},
		{"`a`", "`a`", 0, false},
		{"return ```", "return ```", 0, false},
	} {
		code, before, several := unfence(c.source)
		if several != c.several || !several && (code != c.code || before != c.before) {
			t.Errorf("%q: %q after %d lines, %t", c.source, code, before, several)
		}
	}
}
