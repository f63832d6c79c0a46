package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// key is one key of a table that is read into a T. The reader and the schema of
// its value are made of the same arguments, so that an editor is told what the
// loader does.
type key[T any] struct {
	name, about string // about is one line for people who write the file
	shape       string // members of the JSON Schema of the value
	unsaid      string // the default as JSON, "" when there is none or it is not fixed
	read        func(t *table, to *T)
}

// names are the names of keys, in the order a message lists them.
func names[T any](keys []key[T]) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

// target is the field of T that a key is read into.
type target[T, V any] func(*T) *V

func boolean[T any](name, about string, to target[T, bool]) key[T] {
	return key[T]{name, about, `"type":"boolean"`, "false", func(t *table, x *T) { *to(x) = t.boolean(name, false) }}
}

func str[T any](name, about string, to target[T, string]) key[T] {
	return key[T]{name, about, `"type":"string"`, "", func(t *table, x *T) { *to(x) = t.str(name) }}
}

// text is a string that may not be empty.
func text[T any](name, about string, to target[T, string]) key[T] {
	return key[T]{name, about, `"type":"string","minLength":1`, "", func(t *table, x *T) { *to(x) = t.text(name) }}
}

func strs[T any](name, about string, to target[T, []string]) key[T] {
	return key[T]{name, about, `"type":"array","items":{"type":"string"}`, "", func(t *table, x *T) { *to(x) = t.strs(name) }}
}

// word is one of words; the field keeps what it has, else unsaid, when the file
// does not say one.
func word[T any](name, about, unsaid string, to target[T, string], words ...string) key[T] {
	k := key[T]{name: name, about: about, shape: enum(words), read: func(t *table, x *T) {
		field := to(x)
		*field = t.word(name, cmp.Or(*field, unsaid), words...)
	}}
	if unsaid != "" {
		k.unsaid = strconv.Quote(unsaid)
	}
	return k
}

func enum(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return `"enum":[` + strings.Join(quoted, ",") + `]`
}

// duration keeps the field as it is when the file says none, or a faulty one.
func duration[T any](name, about string, lim limits, to target[T, time.Duration]) key[T] {
	return key[T]{name, about + ": " + lim.text, `"type":"string","pattern":` + quoteJSON(durationPattern), "", func(t *table, x *T) {
		if d, ok := t.duration(name, lim); ok {
			*to(x) = d
		}
	}}
}

// durationPattern is what time.ParseDuration takes, without a sign. The schema
// cannot hold the limits: they are in the key's description.
const durationPattern = `^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^0$`

func count[T any](name, about string, most int64, to target[T, int]) key[T] {
	return key[T]{name, about, fmt.Sprintf(`"type":"integer","minimum":1,"maximum":%d`, most), "", func(t *table, x *T) {
		*to(x) = t.count(name, most)
	}}
}

// exposureWords are the words of exposure.Parse, for the schema. A test holds
// them against it.
var (
	exposureWords = []string{string(exposure.Direct), string(exposure.Deferred), string(exposure.Codemode), "codemode-deferred", string(exposure.Hidden)}
	consentWords  = []string{ConsentAsk, ConsentAllow, ConsentDeny}
)

// perToolShape is a table of words by tool name or pattern.
func perToolShape(words []string) string {
	return `"type":"object","propertyNames":{"minLength":1},"additionalProperties":{` + enum(words) + `}`
}

// namedStrings is a table of strings whose names match pattern.
func namedStrings(pattern *regexp.Regexp) string {
	return `"type":"object","propertyNames":{"pattern":` + quoteJSON(pattern.String()) + `},"additionalProperties":{"type":"string"}`
}
