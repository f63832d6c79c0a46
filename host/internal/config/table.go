package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/collet-dev/collet/host/internal/name"
)

// table is one TOML table while it is read. Its getters return the zero value
// for a key that is not there and for one that is not as it should be; the
// latter is a fault.
type table struct {
	l            *loader
	file, server string
	layer        Layer
	path         string // dotted, "" at the top
	values       map[string]any
	node         *node
}

// fault reports what is wrong with key. The format goes on after
// "servers.github.timeout: ".
func (t *table) fault(key, format string, args ...any) {
	t.faultAt(t.node.key(key), joinKey(t.path, key), format, args...)
}

// faultAt reports what is wrong with the value that n describes.
func (t *table) faultAt(n *node, path, format string, args ...any) {
	at := n.at()
	t.l.cfg.Problems = append(t.l.cfg.Problems, Problem{
		File: t.file, Line: at.line, Column: at.column,
		Server: t.server, Key: path, Message: fmt.Sprintf(format, args...),
	})
}

// joinKey is path.key, key quoted when TOML wants it quoted.
func joinKey(path, key string) string {
	key = toml.Key{key}.String()
	if path == "" {
		return key
	}
	return path + "." + key
}

func (t *table) has(key string) bool {
	_, ok := t.values[key]
	return ok
}

// only faults every key that is not among known.
func (t *table) only(known ...string) {
	for key := range t.values {
		if slices.Contains(known, key) {
			continue
		}
		if near := name.Near(key, known, 1); len(near) > 0 {
			t.fault(key, "unknown key; did you mean %s?", near[0])
		} else {
			t.fault(key, "unknown key; known here: %s", strings.Join(known, ", "))
		}
	}
}

// wrongType is the fault of a value of another type than wanted, with the fix.
func (t *table) wrongType(key, wanted, fix string) {
	t.fault(key, "must be %s, not %s; %s", wanted, typeOf(t.values[key]), fix)
}

// typeOf names a TOML value's type. Values themselves stay out of messages:
// they may be secrets.
func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a datetime"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	}
	return "an array"
}

// table is the table under key, or nil.
func (t *table) table(key string) *table {
	v, ok := t.values[key]
	if !ok {
		return nil
	}
	sub := joinKey(t.path, key)
	values, ok := v.(map[string]any)
	if !ok {
		t.wrongType(key, "a table", "write ["+sub+"] above its keys")
		return nil
	}
	return &table{l: t.l, file: t.file, layer: t.layer, server: t.server, path: sub, values: values, node: t.node.key(key)}
}

func (t *table) str(key string) string {
	v, ok := t.values[key]
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		t.wrongType(key, "a string", "put it in quotes")
	}
	return s
}

// text is str for a key whose empty value makes no sense.
func (t *table) text(key string) string {
	if t.values[key] == any("") {
		t.fault(key, "must not be empty; give it a value or remove it")
	}
	return t.str(key)
}

func (t *table) boolean(key string, unsaid bool) bool {
	v, ok := t.values[key]
	if !ok {
		return unsaid
	}
	b, ok := v.(bool)
	if !ok {
		t.wrongType(key, "true or false", "write the word without quotes")
		return unsaid
	}
	return b
}

// count is an integer from 1 to most.
func (t *table) count(key string, most int64) int { return int(t.integer(key, 1, most)) }

// integer is a positive integer; 0 when it is not said, or faulty.
func (t *table) integer(key string, least, most int64) int64 {
	v, ok := t.values[key]
	if !ok {
		return 0
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		t.wrongType(key, "an integer", "write it as a whole number without quotes")
		return 0
	case n < least || n > most:
		t.fault(key, "%d is out of range; allowed are %d to %d", n, least, most)
		return 0
	}
	return n
}

// word is one of words, or unsaid.
func (t *table) word(key, unsaid string, words ...string) string {
	v, ok := t.values[key]
	if !ok {
		return unsaid
	}
	w, ok := v.(string)
	switch {
	case !ok:
		t.wrongType(key, listWords(words), "write one of these words in quotes")
		return unsaid
	case !slices.Contains(words, w):
		t.fault(key, "%s is not allowed; write %s", quote(w), listWords(words))
		return unsaid
	}
	return w
}

func (t *table) strs(key string) []string {
	v, ok := t.values[key]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		fix := `write ["first", "second"]`
		if _, one := v.(string); one {
			fix = `put it in brackets, one string per word: ["first", "second"]`
		}
		t.wrongType(key, "an array of strings", fix)
		return nil
	}
	out := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			t.faultAt(t.node.key(key).elem(i), fmt.Sprintf("%s[%d]", joinKey(t.path, key), i),
				"must be a string, not %s; put it in quotes", typeOf(v))
			return nil
		}
		out = append(out, s)
	}
	return out
}

// strMap is a table of strings. A number or boolean in it is a fault, never
// turned into text: 0x1F, 1_000 and 1.0 have more than one.
func (t *table) strMap(key string) map[string]string {
	if _, ok := t.values[key].(map[string]any); t.has(key) && !ok {
		t.wrongType(key, "a table of strings", "write "+key+` = { NAME = "value" }`)
		return nil
	}
	sub := t.table(key)
	if sub == nil {
		return nil
	}
	out := make(map[string]string, len(sub.values))
	for k := range sub.values {
		out[k] = sub.str(k)
	}
	return out
}

// quote shows a word of the file in a message: escaped, and not longer than a
// line can bear.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return fmt.Sprintf("%q", s)
}
