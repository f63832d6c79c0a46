package argument

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolSchema has one property for each kind of schema that people write.
const toolSchema = `{
 "type":"object",
 "properties":{
  "s":{"type":"string"},
  "i":{"type":"integer"},
  "n":{"type":"number"},
  "b":{"type":"boolean"},
  "z":{"type":"null"},
  "o":{"type":"object"},
  "ss":{"type":"array","items":{"type":"string"}},
  "is":{"type":"array","items":{"type":"integer"}},
  "aa":{"type":"array","items":{"type":"array"}},
  "a":{"type":"array"},
  "sn":{"anyOf":[{"type":"string"},{"type":"null"}]},
  "in":{"type":["integer","null"]},
  "si":{"oneOf":[{"type":"string"},{"type":"integer"}]},
  "sa":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
  "an":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},
  "es":{"enum":["1","2"]},
  "em":{"enum":["1",2]},
  "c":{"const":"7"},
  "ref":{"$ref":"#/$defs/text~1a"},
  "all":{"allOf":[{"type":["string","integer"]},{"type":"string"}]},
  "loop":{"$ref":"#/$defs/loop"},
  "any":{},
  "yes":true,
  "a.b":{"type":"string"},
  "*":{"type":"integer"}
 },
 "$defs":{"text/a":{"type":"string"},"loop":{"$ref":"#/$defs/loop"}}
}`

func TestObject(t *testing.T) {
	tests := []struct {
		name  string
		words []string
		want  string // the JSON, or "problem: PART" of the problem expected
	}{
		{"digits are text", []string{"s=326030"}, `{"s":"326030"}`},
		{"leading zeros are text", []string{"s=000123"}, `{"s":"000123"}`},
		{"a version is text", []string{"s=1.10"}, `{"s":"1.10"}`},
		{"true is text", []string{"s=true"}, `{"s":"true"}`},
		{"JSON is text", []string{`s={"a":1}`}, `{"s":"{\"a\":1}"}`},
		{"quotes are text", []string{`s="x"`}, `{"s":"\"x\""}`},
		{"nothing is text", []string{"s="}, `{"s":""}`},
		{"spaces stay", []string{"s= a "}, `{"s":" a "}`},
		{"equals signs stay", []string{"s=a=b=c"}, `{"s":"a=b=c"}`},
		{"markup is not escaped", []string{"s=<a&b>\u2028"}, "{\"s\":\"<a&b>\u2028\"}"},
		{"controls are escaped", []string{"s=a\n\t\x01\\"}, `{"s":"a\n\t\u0001\\"}`},
		{"raw string", []string{`s:="x"`}, `{"s":"x"}`},
		{"raw is forced", []string{`s:=5`}, `{"s":5}`},
		{"raw keeps bytes", []string{`s:={"b":1.0, "a":1e2}`}, `{"s":{"b":1.0, "a":1e2}}`},

		{"integer", []string{"i=5"}, `{"i":5}`},
		{"beyond 2^53", []string{"i=9007199254740993"}, `{"i":9007199254740993}`},
		{"thirty digits", []string{"i=123456789012345678901234567890"}, `{"i":123456789012345678901234567890}`},
		{"negative zero", []string{"i=-0"}, `{"i":-0}`},
		{"1.0 is left to the validator", []string{"i=1.0"}, `{"i":1.0}`},
		{"1.5 too", []string{"i=1.5"}, `{"i":1.5}`},
		{"no octal", []string{"i=000123"}, `problem: "000123" is no integer`},
		{"no plus", []string{"i=+5"}, `problem: "+5" is no integer`},
		{"no hex", []string{"i=0x10"}, `problem: is no integer`},
		{"no word", []string{"i=five"}, `problem: "five" is no integer`},
		{"not empty", []string{"i="}, `problem: "" is no integer`},
		{"number keeps its spelling", []string{"n=1.10"}, `{"n":1.10}`},
		{"exponent", []string{"n=1E-7"}, `{"n":1E-7}`},
		{"no NaN", []string{"n=NaN"}, `problem: "NaN" is no number`},
		{"true", []string{"b=true"}, `{"b":true}`},
		{"no yes", []string{"b=yes"}, `problem: "yes" is no boolean`},
		{"no True", []string{"b=True"}, `problem: "True" is no boolean`},
		{"no 1", []string{"b=1"}, `problem: "1" is no boolean`},
		{"null", []string{"z=null"}, `{"z":null}`},
		{"null only", []string{"z=0"}, `problem: "0" is no null`},

		{"object", []string{`o={"b":1,"a":9007199254740993}`}, `{"o":{"b":1,"a":9007199254740993}}`},
		{"empty object", []string{"o={}"}, `{"o":{}}`},
		{"no array for an object", []string{"o=[1]"}, `problem: is no object`},
		{"broken object", []string{"o={"}, `problem: is no object`},
		{"array", []string{`ss=["a","b"]`}, `{"ss":["a","b"]}`},
		{"array of one", []string{"ss=a"}, `{"ss":["a"]}`},
		{"array of one, typed", []string{"ss=7"}, `{"ss":["7"]}`},
		{"repeated", []string{"ss=a", "s=x", "ss=007"}, `{"ss":["a","007"],"s":"x"}`},
		{"repeated integers", []string{"is=1", "is=9007199254740993"}, `{"is":[1,9007199254740993]}`},
		{"a wrong element", []string{"is=1", "is=x"}, `problem: "x" is no integer`},
		{"one wrong element", []string{"is=x"}, `problem: "x" is no integer`},
		{"raw elements", []string{`ss:="a"`, "ss=b"}, `{"ss":["a","b"]}`},
		{"raw is not wrapped", []string{`ss:="a"`}, `{"ss":"a"}`},
		{"untyped elements", []string{"a=1", "a=x"}, `{"a":[1,"x"]}`},
		{"arrays in an array", []string{"aa=[1]", "aa=[2]"}, `{"aa":[[1],[2]]}`},
		{"one array is the array", []string{"aa=[[1]]"}, `{"aa":[[1]]}`},
		{"a word is no array in an array", []string{"aa=x"}, `problem: is no array`},
		{"repeated text", []string{"s=a", "s=b"}, `problem: given 2 times, but it is no array: string`},

		{"nullable text", []string{"sn=326030"}, `{"sn":"326030"}`},
		{"nullable quotes", []string{`sn="x"`}, `{"sn":"\"x\""}`},
		{"nullable null", []string{"sn=null"}, `{"sn":null}`},
		{"nullable integer", []string{"in=5"}, `{"in":5}`},
		{"nullable integer, null", []string{"in=null"}, `{"in":null}`},
		{"nullable integer, wrong", []string{"in=x"}, `problem: "x" is no integer|null`},
		{"union takes JSON", []string{"si=5"}, `{"si":5}`},
		{"union leaves text", []string{"si=five"}, `{"si":"five"}`},
		{"union leaves leading zeros", []string{"si=007"}, `{"si":"007"}`},
		{"union leaves other kinds", []string{"si=true"}, `{"si":"true"}`},
		{"union leaves fractions", []string{"si=1.5"}, `{"si":"1.5"}`},
		{"union takes a quoted string", []string{`si="5"`}, `{"si":"5"}`},
		{"text or array", []string{"sa=x"}, `{"sa":"x"}`},
		{"text or array, an array", []string{`sa=["x"]`}, `{"sa":["x"]}`},
		{"text or array, repeated", []string{"sa=x", "sa=1"}, `{"sa":["x","1"]}`},
		{"array or null", []string{"an=x"}, `{"an":["x"]}`},
		{"array or null, null", []string{"an=null"}, `{"an":null}`},
		{"enum of text", []string{"es=1"}, `{"es":"1"}`},
		{"mixed enum", []string{"em=2"}, `{"em":2}`},
		{"const", []string{"c=7"}, `{"c":"7"}`},
		{"reference", []string{"ref=7"}, `{"ref":"7"}`},
		{"intersection", []string{"all=7"}, `{"all":"7"}`},
		{"endless reference", []string{"loop=7"}, `{"loop":7}`},

		{"unknown type takes JSON", []string{"any=7"}, `{"any":7}`},
		{"unknown type keeps digits", []string{"any=9007199254740993"}, `{"any":9007199254740993}`},
		{"unknown type, leading zeros", []string{"any=007"}, `{"any":"007"}`},
		{"unknown type, text", []string{"any=x y"}, `{"any":"x y"}`},
		{"unknown type, repeated", []string{"any=1", "any=x"}, `{"any":[1,"x"]}`},
		{"true schema", []string{"yes=[1]"}, `{"yes":[1]}`},
		{"unknown key", []string{"other=7"}, `{"other":7}`},
		{"dots mean nothing", []string{"a.b=7", "x.y=z"}, `{"a.b":"7","x.y":"z"}`},
		{"stars mean nothing", []string{"*=7"}, `{"*":7}`},
		{"order is kept", []string{"s=1", "i=2", "b=true", "any=x"}, `{"s":"1","i":2,"b":true,"any":"x"}`},
		{"no words", nil, `{}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var words []Word
			for _, text := range test.words {
				w, err := ParseWord(text, strings.NewReader(""))
				if err != nil {
					t.Fatal(err)
				}
				words = append(words, w)
			}
			got, problems := Object(json.RawMessage(toolSchema), words)
			if part, ok := strings.CutPrefix(test.want, "problem: "); ok {
				if len(problems) != 1 || !strings.Contains(problems[0].Message, part) || problems[0].Rule != "type" {
					t.Errorf("got %s with problems %v, want one with %q", got, problems, part)
				}
				return
			}
			if string(got) != test.want || problems != nil {
				t.Errorf("got %s with problems %v, want %s", got, problems, test.want)
			}
		})
	}
}

func TestObjectTellsEveryProblem(t *testing.T) {
	schema := `{"properties":{"a/b~":{"type":"integer"},"c":{"type":"boolean"}}}`
	_, problems := Object(json.RawMessage(schema), []Word{{Key: "a/b~", Text: "x"}, {Key: "c", Text: "y"}})
	if len(problems) != 2 || problems[0].Path != "/a~1b~0" || problems[1].Path != "/c" {
		t.Errorf("got %v", problems)
	}
}

func TestObjectWithOddSchemas(t *testing.T) {
	for _, schema := range []string{``, `null`, `true`, `[]`, `{"properties":[]}`, `{"properties":{"k":5}}`, `{"$ref":"#"}`,
		`{"properties":{"k":{"type":"string"}},"allOf":[{"$ref":"#"}]}`, `{"properties":{"k":{"type":[]}}}`, `{"properties":{"k":{"type":"text"}}}`} {
		got, problems := Object(json.RawMessage(schema), []Word{{Key: "k", Text: "text"}})
		if string(got) != `{"k":"text"}` || problems != nil {
			t.Errorf("%s: got %s, %v", schema, got, problems)
		}
	}
	behind := `{"$ref":"#/$defs/in","$defs":{"in":{"properties":{"k":{"type":"string"}},"additionalProperties":false}}}`
	if got, _ := Object(json.RawMessage(behind), []Word{{Key: "k", Text: "7"}}); string(got) != `{"k":"7"}` {
		t.Errorf("behind a reference: %s", got)
	}
	extra := `{"additionalProperties":{"type":"string"}}`
	if got, _ := Object(json.RawMessage(extra), []Word{{Key: "k", Text: "7"}}); string(got) != `{"k":"7"}` {
		t.Errorf("additionalProperties: %s", got)
	}
}

func TestParseWord(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("007\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := ParseWord("any=@"+file, nil)
	if err != nil || w.Text != "007\n" || !w.File {
		t.Errorf("got %+v, %v", w, err)
	}
	if w, err = ParseWord("k=@-", strings.NewReader("5")); err != nil || w.Text != "5" {
		t.Errorf("stdin: %+v, %v", w, err)
	}
	got, _ := Object(json.RawMessage(`{}`), []Word{w})
	if string(got) != `{"k":"5"}` {
		t.Errorf("a file's content of unknown type is text, got %s", got)
	}
	if got, _ := Object(json.RawMessage(`{"properties":{"k":{"type":"integer"}}}`), []Word{w}); string(got) != `{"k":5}` {
		t.Errorf("a file's content is typed by the schema, got %s", got)
	}
	if _, err := ParseWord("k=@-", zeros{}); err == nil || !strings.Contains(err.Error(), "stdin is longer than 64 MiB") {
		t.Errorf("an endless stdin: %v", err)
	}
	for _, bad := range []string{"k=@", "", "x", "=x", ":=1", "k:=", "k:=x", "k:=007", "k=@" + dir + "/none", "k=\xff", "k:=\"\xff\""} {
		if w, err := ParseWord(bad, strings.NewReader("")); err == nil {
			t.Errorf("%q: got %+v", bad, w)
		}
	}
	if _, err := ParseWord("user=@alice", nil); err == nil || !strings.Contains(err.Error(), `user:='"@..."'`) {
		t.Errorf("the error does not say how to write text that begins with @: %v", err)
	}
}

func TestParameters(t *testing.T) {
	schema := `{"$ref":"#/$defs/in","$defs":{"in":{"properties":{
		"p":{"type":"string","description":"where"},
		"n":{"type":["integer","null"],"default":9007199254740993},
		"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}},
		"e":{"enum":["a","b"]},"x":{}},"required":["p"]}}}`
	list := Parameters(json.RawMessage(schema))
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.Name + " " + p.Type + " " + strings.Join(p.Enum, "|") + " " + p.Default + " " + p.Description)
		if p.Required {
			b.WriteString(" required")
		}
		b.WriteByte('\n')
	}
	want := "p string   where required\nn integer|null  9007199254740993 \nl (string|integer)[]   \ne string \"a\"|\"b\"  \nx any   \n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestParametersOfCombinations(t *testing.T) {
	schema := `{"type":"object","anyOf":[{"properties":{"id":{"type":"integer"}},"required":["id"]},{"properties":{"name":{"type":"string"},"id":{}}}],
		"allOf":[{"properties":{"v":{"type":"boolean"}}},{"required":["v"]}]}`
	var b strings.Builder
	for _, p := range Parameters(json.RawMessage(schema)) {
		fmt.Fprintf(&b, "%s %s %t\n", p.Name, p.Type, p.Required)
	}
	if want := "v boolean true\nid integer false\nname string false\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func FuzzObject(f *testing.F) {
	f.Add(toolSchema, "s", "000123")
	f.Add(`{"properties":{"k":{"$ref":"#/properties/k"}}}`, "k", "[")
	f.Add(`{"additionalProperties":{"anyOf":[{"$ref":"#"}]}}`, "k", "1e999")
	f.Fuzz(func(t *testing.T, schema, key, text string) {
		got, problems := Object(json.RawMessage(schema), []Word{{Key: key, Text: text}, {Key: key, Text: text}, {Key: key + "2", Text: text}})
		if problems == nil && !json.Valid(got) {
			t.Errorf("not JSON: %s", got)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
