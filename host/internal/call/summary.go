package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// WithText returns an MCP result that clients which know no structuredContent
// (before MCP 2025-06-18) can show: where a result has no content block, its
// structuredContent becomes a text block, as JSON and cut when it is long. That
// makes the result at most limit bytes longer. Everything else, structuredContent
// included, keeps every byte; a result that has content, or nothing to show, is
// returned as it is. The same result always gets the same text.
func WithText(result json.RawMessage, limit int) json.RawMessage {
	root := gjson.ParseBytes(result)
	if !root.IsObject() {
		return result
	}
	structured := root.Get("structuredContent")
	if !structured.Exists() || structured.Type == gjson.Null {
		return result
	}
	content := root.Get("content")
	// Where the block goes, and what it is written between.
	var from, to int
	open, end := "[", "]"
	switch {
	case !content.Exists():
		from = bytes.IndexByte(result, '{') + 1
		to, open, end = from, `"content":[`, `],`
	case content.Type == gjson.Null:
		from, to = content.Index, content.Index+len(content.Raw)
	case content.IsArray() && content.Get("#").Int() == 0:
		from = content.Index + 1
		to, open, end = from, "", ""
	default:
		return result
	}
	before, after := open+`{"type":"text","text":`, `}`+end
	text := bounded(structured.Raw, limit-len(before)-len(after))
	if text == nil {
		return result
	}
	return slices.Concat(result[:from], []byte(before), text, []byte(after), result[to:])
}

// bounded is raw as a JSON string of at most limit bytes: its beginning and how
// much is missing when it is longer, nil when there is no room for that.
func bounded(raw string, limit int) []byte {
	if len(raw)+2 <= limit {
		if whole := rawjson.AppendString(nil, raw); len(whole) <= limit {
			return whole
		}
	}
	tail := fmt.Sprintf("\n[cut: %d bytes in all; structuredContent has them]", len(raw))
	room := limit - len(rawjson.AppendString(nil, tail))
	cut := 0
	for cut < len(raw) {
		_, n := utf8.DecodeRuneInString(raw[cut:])
		if room -= len(rawjson.AppendString(nil, raw[cut:cut+n])) - 2; room < 0 {
			break
		}
		cut += n
	}
	if cut == 0 {
		return nil
	}
	return rawjson.AppendString(nil, raw[:cut]+tail)
}
