package argument

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// maxValues bounds how many values are tried; nobody reads through more.
const maxValues = 2000

// Values lists the texts that key=TEXT may have where the input schema names
// them: those of enum and const, true and false, and for an array those of its
// elements. What has to be written as key:= because key=TEXT would mean another
// value is left out.
func Values(inputSchema json.RawMessage, key string) []string {
	s := parse(inputSchema).property(key, 0)
	var texts []string
	set, values := s.kinds(0), s.values(0)
	for _, v := range values[:min(len(values), maxValues)] {
		text := v.Raw
		if v.Type == gjson.String {
			text = v.String()
		}
		if !strings.HasPrefix(text, "@") && !slices.Contains(texts, text) && s.means(set, text, v) {
			texts = append(texts, text)
		}
	}
	return texts
}

// values are the values that the schema names, those of its alternatives
// included.
func (s schema) values(depth int) []gjson.Result {
	if s.spent(depth) || !s.part.IsObject() {
		return nil
	}
	if enum := s.part.Get("enum"); enum.IsArray() {
		return enum.Array()
	}
	if c := s.part.Get("const"); c.Exists() {
		return []gjson.Result{c}
	}
	var list []gjson.Result
	if target, ok := s.target(); ok {
		list = target.values(depth + 1)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		for _, m := range s.part.Get(keyword).Array() {
			list = append(list, s.at(m).values(depth+1)...)
		}
	}
	set := s.kinds(depth)
	if len(list) > 0 || set == anyKind {
		return list
	}
	if set&kindBoolean != 0 {
		list = append(list, gjson.Parse("true"), gjson.Parse("false"))
	}
	if set&kindArray != 0 {
		list = append(list, s.items(0).values(depth+1)...)
	}
	return list
}

// means says whether a word of that text becomes the value, or an array of it;
// set is what s.kinds returns.
func (s schema) means(set kinds, text string, value gjson.Result) bool {
	spelled, problem := spellOne(s, set, Word{Text: text})
	if problem != "" {
		return false
	}
	got := gjson.ParseBytes(spelled)
	if got.IsArray() && !value.IsArray() {
		got = got.Get("0")
	}
	return got.Type == value.Type && got.String() == value.String()
}
