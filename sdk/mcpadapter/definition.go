package mcpadapter

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
)

// Without returns a JSON object without some of its members, the others as they
// were written. What is no object is returned as it is.
func Without(object json.RawMessage, members ...string) json.RawMessage {
	return rebuilt(object, members, "", nil)
}

// With returns a JSON object with a member set to a JSON value, in place of the
// one of that name if there is one. What is no object is returned as it is.
func With(object json.RawMessage, member string, value json.RawMessage) json.RawMessage {
	return rebuilt(object, []string{member}, member, value)
}

// rebuilt copies an object without some members and appends one, if value is not nil.
func rebuilt(object json.RawMessage, without []string, member string, value json.RawMessage) json.RawMessage {
	parsed := gjson.ParseBytes(object)
	if !parsed.IsObject() {
		return object
	}
	b := make([]byte, 0, len(object)+len(member)+len(value)+len(`,"":`))
	b = append(b, '{')
	add := func(name, value string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, name...)
		b = append(b, ':')
		b = append(b, value...)
	}
	parsed.ForEach(func(name, value gjson.Result) bool {
		if !slices.Contains(without, name.Str) {
			add(name.Raw, value.Raw)
		}
		return true
	})
	if value != nil {
		add(string(quoted(member)), string(value))
	}
	return append(b, '}')
}

// Untrusted returns an MCP result object whose _meta says that strangers wrote its
// content: pages, documents, issues, files of a repository. Whoever shows it to a
// model can tell it from the user's own words.
func Untrusted(result json.RawMessage) json.RawMessage {
	meta := json.RawMessage(gjson.GetBytes(result, "_meta").Raw)
	if !gjson.ParseBytes(meta).IsObject() {
		meta = json.RawMessage("{}")
	}
	return With(result, "_meta", With(meta, adapter.MetaUntrusted, json.RawMessage("true")))
}

// Text returns the text blocks of an MCP result object, a line feed between them.
func Text(result json.RawMessage) string {
	var texts []string
	gjson.GetBytes(result, "content").ForEach(func(_, block gjson.Result) bool {
		if block.Get("type").Str == "text" {
			texts = append(texts, block.Get("text").Str)
		}
		return true
	})
	return strings.Join(texts, "\n")
}
