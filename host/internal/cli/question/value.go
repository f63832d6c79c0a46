package question

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// read is the value that a person means by what they typed. wrong says why it is
// none, for them.
func (f *Field) read(typed string) (value json.RawMessage, wrong string) {
	switch f.kind {
	case text:
		if typed == `""` { // an empty line leaves the field out
			typed = ""
		}
		value = rawjson.AppendString(nil, typed)
	case number:
		if gjson.Parse(typed).Type != gjson.Number || !json.Valid([]byte(typed)) {
			return nil, "that is no number; write it like 7 or 2.5"
		}
		value = json.RawMessage(typed)
	case yesNo:
		switch strings.ToLower(typed) {
		case "y", "yes", "true":
			value = json.RawMessage("true")
		case "n", "no", "false":
			value = json.RawMessage("false")
		default:
			return nil, "answer yes or no"
		}
	case oneOf:
		chosen := f.choose(typed)
		if chosen == nil {
			return nil, "that is none of the values above"
		}
		value = chosen.value
	case someOf:
		parts := []string{typed}
		if f.choose(typed) == nil { // else it is one value, with a comma in it or without
			parts = strings.Split(typed, ",")
		}
		var all [][]byte
		for _, part := range parts {
			chosen := f.choose(strings.TrimSpace(part))
			if chosen == nil {
				return nil, fmt.Sprintf("%q is none of the values above; put commas between several", strings.TrimSpace(part))
			}
			if !slices.ContainsFunc(all, func(have []byte) bool { return string(have) == string(chosen.value) }) {
				all = append(all, chosen.value)
			}
		}
		value = rawjson.Array(all)
	default:
		if !json.Valid([]byte(typed)) {
			return nil, "that is no JSON; a text goes between double quotes"
		}
		value = json.RawMessage(typed)
	}
	return value, f.check(value)
}

// choose finds an option by its value, its title or its number.
func (f *Field) choose(typed string) *option {
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, name := range []func(*option) string{func(o *option) string { return o.label }, func(o *option) string { return o.title }} {
			for i := range f.options {
				if o := &f.options[i]; same(name(o), typed) && (typed != "" || o.label == "") {
					return o
				}
			}
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && f.numbered() && 1 <= n && n <= len(f.options) {
		return &f.options[n-1]
	}
	return nil
}

// numbered reports whether a number stands for an option: not where one could be meant
// as a value.
func (f *Field) numbered() bool {
	return !slices.ContainsFunc(f.options, func(o option) bool {
		_, label := strconv.Atoi(o.label)
		_, title := strconv.Atoi(o.title)
		return label == nil || title == nil
	})
}

// check says what is wrong with a value, "" when nothing is.
func (f *Field) check(value json.RawMessage) string {
	if path, found := rawjson.Twice(value); found {
		return strings.TrimPrefix(path, "/") + " is there twice"
	}
	if f.kind == oneOf && !f.offers(gjson.ParseBytes(value)) {
		return "it is none of the values to choose from"
	}
	if f.kind == someOf {
		for _, v := range gjson.ParseBytes(value).Array() {
			if !f.offers(v) {
				return "one of them is none of the values to choose from"
			}
		}
	}
	if problems := f.rules.Validate(value); len(problems) > 0 {
		p := problems[0]
		return strings.TrimSpace(strings.TrimPrefix(p.Path, "/") + " " + p.Message)
	}
	if v := gjson.ParseBytes(value); v.Type == gjson.String {
		return f.checkFormat(v.String())
	}
	return ""
}

func (f *Field) offers(v gjson.Result) bool {
	label := labelOf(v)
	return slices.ContainsFunc(f.options, func(o option) bool {
		return o.label == label && gjson.ParseBytes(o.value).Type == v.Type
	})
}

// checkFormat holds a text against the formats that forms may have; others say
// nothing.
func (f *Field) checkFormat(s string) string {
	switch f.format {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return "that is not an e-mail address; write it like ann@example.com"
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || !u.IsAbs() || strings.ContainsAny(s, " \"<>\\^`{|}") {
			return "that is no URI; write it like https://example.com/page"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return "that is no date; write it like 2026-03-31"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			return "that is no date and time; write it like 2026-03-31T12:00:00Z"
		}
	}
	return ""
}
