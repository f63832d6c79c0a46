package declare

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/tidwall/gjson"
)

func parsed(s string) gjson.Result { return gjson.Parse(s) }

// hostile are schemas that cost more to expand than to send.
func hostile() map[string]string {
	all := map[string]string{}
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i := range 40_000 {
		fmt.Fprintf(&b, `"p%d":{"type":"string"},`, i)
	}
	all["40,000 properties"] = b.String() + `"last":{}}}`
	for i := range 60_000 {
		fmt.Fprintf(&b, `"q%d":{"type":"string"},`, i)
	}
	all["100,000 properties"] = b.String() + `"last":{}}}`

	all["9,000 levels"] = strings.Repeat(`{"properties":{"a":`, 4500) + `{}` + strings.Repeat(`}}`, 4500)
	all["10,000 items in each other"] = strings.Repeat(`{"items":`, 9999) + `{}` + strings.Repeat(`}`, 9999)
	all["a million brackets"] = strings.Repeat(`[`, 1_000_000)
	all["allOf in each other"] = strings.Repeat(`{"allOf":[`, 4900) + `{"type":"string"}` + strings.Repeat(`]}`, 4900)

	b.Reset()
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	all["references that double"] = b.String() + `"d40":{"type":"string"}}}`

	b.Reset()
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"properties":{"p%d":{"$ref":"#/$defs/d%d"}}},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i, i+1, i+1)
	}
	all["combinations that double"] = b.String() + `"d40":{"properties":{"x":{"type":"string"}}}}}`

	b.Reset()
	b.WriteString(`{"allOf":[{"$ref":"#/$defs/d0"},{"properties":{"a":{"$ref":"#/$defs/d0"},"b":{"$ref":"#/$defs/d0"}}}],"$defs":{`)
	for i := range 28 {
		fmt.Fprintf(&b, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	all["intersections that double"] = b.String() + `"d28":{"type":"string"}}}`

	b.Reset()
	b.WriteString(`{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 28 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	all["explanations that double"] = b.String() + `"d28":{"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}}`

	b.Reset()
	b.WriteString(`{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 28 {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	all["unions that double"] = b.String() + `"d28":{"anyOf":[` + strings.Repeat(`{"properties":{"x":{}}},`, 10) + `{"type":"null"}]}}}`

	pad := strings.Repeat(" ", 1000)
	b.Reset()
	b.WriteString(`{"anyOf":[`)
	for i := range 3000 {
		fmt.Fprintf(&b, `{"$ref":"#/$defs/%d/x"},`, i)
	}
	all["references that lead nowhere, far away"] = b.String() + `{}],"x":"` + strings.Repeat(pad, 600) + `","$defs":{}}`

	b.Reset()
	b.WriteString(`{"enum":[`)
	for i := range 90_000 {
		fmt.Fprintf(&b, `"v%d",`, i)
	}
	all["90,000 values"] = `{"properties":{"a":` + b.String() + `"last"]},"b":{"type":"number"}}}`

	all["required without end"] = `{"required":[` + strings.Repeat(`"a",`, 100_000) + `"b"]}`
	b.Reset()
	for i := range 50_000 {
		fmt.Fprintf(&b, `"r%d",`, i)
	}
	all["50,000 required"] = `{"required":[` + b.String() + `"b"]}`
	all["a long name"] = `{"properties":{"` + strings.Repeat("n", 50_000) + `":{"type":"string"}}}`
	all["a long description"] = `{"properties":{"a":{"description":"` + strings.Repeat(`word `, 100_000) + `"}}}`
	all["1,000 described properties"] = `{"properties":{` + described(1000) + `"last":{}}}`
	all["300 described properties"] = `{"properties":{` + described(300) + `"last":{}}}`
	all["100 described properties in each other"] = `{"properties":{"a":{"properties":{` + described(100) + `"last":{"properties":{` + described(100) + `"x":{}}}}}}}`
	all["5,000 tags"] = `{"properties":{"a":{"allOf":[` + strings.Repeat(`{"format":"a","minimum":1},{"format":"b","pattern":"x"},`, 2500) + `{}]}}}`
	all["5,000 variants"] = `{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"properties":{"x":{}}},`, 5000) + `{"type":"null"}]}}}`
	all["5,000 parts"] = `{"properties":{"a":{"allOf":[` + strings.Repeat(`{"properties":{"x":{}},"additionalProperties":true},`, 5000) + `{"type":"null"}]}}}`
	return all
}

func described(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"property_%d":{"type":"string","description":"The property of number %d, which is like the one before it.","minLength":1,"pattern":"^[a-z]+$"},`, i, i)
	}
	return b.String()
}

// Whatever a schema costs, its declaration is there soon, in little memory, and
// within its limit.
func TestHostileSchemas(t *testing.T) {
	const soon, little = 10 * time.Second, 64 << 20
	for name, schema := range hostile() {
		t.Run(name, func(t *testing.T) {
			tool := Tool{Server: "s", Name: "t", ServerIdentifier: "s", Identifier: "t", Input: []byte(schema), Output: []byte(schema)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			got := Declaration(tool, Limit)
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if err := wellFormed(got); err != nil || len(got) > Limit {
				t.Errorf("%d bytes, %v: %.200s", len(got), err, got)
			}
			if took > soon {
				t.Errorf("it took %s", took)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > little {
				t.Errorf("it took %d MB", n>>20)
			}
			t.Logf("%d bytes of schema, %d of TypeScript, %s, %d KB", len(schema), len(got), took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>10)
			if again := Declaration(tool, Limit); again != got {
				t.Error("another declaration the second time")
			}
			if small := Declaration(tool, MinLimit); len(small) > MinLimit || wellFormed(small) != nil {
				t.Errorf("of %d bytes: %s", MinLimit, small)
			}
		})
	}
}

// What gives way does so in the documented order.
func TestWhatGivesWay(t *testing.T) {
	schema := `{"type":"object","required":["a"],"properties":{
		"a":{"type":"string","description":"First line.\nSecond line.","minLength":1},
		"b":{"description":"Nested.","properties":{"c":{"type":"string","description":"Deep.","properties":{}},"d":{"properties":{"e":{"properties":{"f":{"properties":{"g":{"type":"string"}}}}}}}}},
		"v":{"enum":["v01","v02","v03","v04","v05","v06","v07","v08","v09","v10","v11","v12"]}}}`
	tool := Tool{Server: "s", Name: "t", ServerIdentifier: "s", Identifier: "t", Description: strings.Repeat("About. ", 400), Input: []byte(schema), Output: []byte(strings.NewReplacer("line", "result", `"c"`, `"oc"`, `"d"`, `"od"`, `"e"`, `"oe"`).Replace(schema))}
	marks := []struct{ what, mark string }{ // in the order in which they go
		{"constraints", "@minLength 1"},
		{"nested descriptions", "Deep."},
		{"descriptions in the result", "First result."},
		{"descriptions behind the first line", "Second line."},
		{"values", `"v11"`},
		{"the depth of the result", "oe?: "},
		{"the result", "Promise<{"},
		{"the arguments' fifth level", "g?: "},
		{"the fourth", "f?: "},
		{"the third", "e?: "},
		{"descriptions of arguments", "First line."},
		{"the second level", "c?: "},
		{"the arguments", "a: string"},
	}
	went := map[string]int{}
	full := Declaration(tool, 100_000)
	for limit := len(full); limit >= MinLimit; limit -= 11 {
		got := Declaration(tool, limit)
		if len(got) > limit || wellFormed(got) != nil {
			t.Fatalf("at %d bytes: %d, %v", limit, len(got), wellFormed(got))
		}
		flat := strings.Join(strings.Fields(got), " ")
		for _, m := range marks {
			if _, gone := went[m.what]; !gone && !strings.Contains(got, m.mark) && !strings.Contains(flat, m.mark) {
				went[m.what] = limit
			}
		}
	}
	last := len(full)
	for _, m := range marks {
		at, gone := went[m.what]
		if !gone {
			continue // the tool's own description leaves room enough for it
		}
		if at > last {
			t.Errorf("%s went at %d bytes, what is to go before at %d", m.what, at, last)
		}
		last = at
	}
	if len(went) < 6 {
		t.Errorf("went: %v", went)
	}
}

func FuzzDeclaration(f *testing.F) {
	for _, s := range hostile() {
		if len(s) < 20_000 {
			f.Add(s, "d", 1000)
		}
	}
	f.Add(`{"properties":{"a":{"enum":["*/","\u2028",1e400,-0,9007199254740993]},"b":{"oneOf":[{"const":"x","title":"y"}]}}}`, "*/ declare", 2000)
	f.Add(`{"type":"array","prefixItems":[{"const":{"a":[]}}],"items":{"$ref":"#/%zz"},"minItems":3}`, "@ts-ignore", 16000)
	f.Add(`{"$id":"x","$ref":"x#y","$defs":{"z":{"$anchor":"y","allOf":[{"required":["a"]},true]}}}`, "", 1500)
	f.Fuzz(func(t *testing.T, schema, about string, limit int) {
		limit = min(max(limit, MinLimit), 1<<20)
		tool := Tool{Server: "s-x", Name: about, ServerIdentifier: "s_x", Identifier: "t", Description: about, Input: json.RawMessage(schema), Output: json.RawMessage(schema)}
		got := Declaration(tool, limit)
		if err := wellFormed(got); err != nil || len(got) > limit {
			t.Fatalf("%d bytes of %d, %v:\n%s", len(got), limit, err, got)
		}
		if again := Declaration(tool, limit); again != got {
			t.Fatal("another declaration the second time")
		}
		if err := parse(got); err != nil {
			t.Fatalf("%v:\n%s", err, got)
		}
		if file := Ambient([]Tool{tool}, limit); wellFormed(file) != nil {
			t.Fatalf("%v:\n%s", wellFormed(file), file)
		}
	})
}

// parse has a parser of TypeScript read it, that nobody here wrote.
func parse(ts string) error {
	r := api.Transform(ts, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
	for _, e := range r.Errors {
		return fmt.Errorf("%s in %q", e.Text, e.Location.LineText)
	}
	return nil
}

// wellFormed goes over TypeScript by its tokens: comments and strings are closed,
// brackets match, and nothing outside of comments and strings is anything but names,
// numbers and punctuation of types.
func wellFormed(s string) error {
	var open []byte
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "/*"):
			end := strings.Index(s[i+2:], "*/")
			if end < 0 {
				return fmt.Errorf("a comment is open at its end")
			}
			i += end + 4
			continue
		case strings.HasPrefix(s[i:], "//"):
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		case c == '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\n' {
					return fmt.Errorf("a string is open at the end of its line")
				}
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return fmt.Errorf("a string is open at its end")
			}
		case strings.IndexByte("{[(<", c) >= 0:
			open = append(open, c)
		case c == '>' && i > 0 && s[i-1] == '=':
		case strings.IndexByte("}])>", c) >= 0:
			if len(open) == 0 || strings.IndexByte("{[(<", open[len(open)-1]) != strings.IndexByte("}])>", c) {
				return fmt.Errorf("%q at %d closes nothing", c, i)
			}
			open = open[:len(open)-1]
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_$ \n:;,?|&.=+-", c) >= 0:
		default:
			return fmt.Errorf("%q at %d is outside of comments and strings", c, i)
		}
		i++
	}
	if len(open) > 0 {
		return fmt.Errorf("%q are open at its end", open)
	}
	return nil
}
