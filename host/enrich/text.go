package enrich

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// answer is an MCP result as it is read here.
type answer struct {
	structured gjson.Result
	text       string // of its text blocks
}

func read(result json.RawMessage) *answer {
	a := &answer{structured: gjson.GetBytes(result, "structuredContent")}
	var texts []string
	for _, block := range gjson.GetBytes(result, "content").Array() {
		if block.Get("type").Str == "text" {
			texts = append(texts, block.Get("text").Str)
		}
	}
	a.text = strings.Join(texts, "\n")
	return a
}

// plain is a stranger's text on one line, without what acts on a screen or cannot be
// seen.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// cut is a text of at most limit characters.
func cut(text string, limit int) string {
	n := 0
	for i := range text {
		if n++; n == limit {
			rest := text[i:]
			if len([]rune(rest)) > 1 {
				return text[:i] + "…"
			}
		}
	}
	return text
}

// encode is JSON with < > & as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
