package results

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// text is a result as text: valid UTF-8.
type text struct {
	bytes []byte
	apart bool // it is no part of the result's JSON
	at    span // where it is there, otherwise
}

// textOf is a result as text: its text blocks and embedded texts one after the
// other, each ending its line, with one line in the place of every other block; of a
// resource its contents, of a prompt its messages. A result without any text is its
// structuredContent as JSON; one without that either is all of its JSON.
func textOf(raw []byte) text {
	root := gjson.ParseBytes(raw)
	if t, ok := blocks(parts(root)); ok {
		return text{bytes: t, apart: true}
	}
	part := span{0, int64(len(raw))}
	if sc := root.Get("structuredContent"); sc.Exists() && sc.Type != gjson.Null && sc.Index > 0 {
		part = span{int64(sc.Index), int64(len(sc.Raw))}
	}
	t := raw[part.At:][:part.Length]
	if !utf8.Valid(t) {
		return text{bytes: bytes.ToValidUTF8(t, []byte("\uFFFD")), apart: true}
	}
	return text{bytes: t, at: part}
}

// parts are the blocks of a result, and the path to the one at %d.
func parts(root gjson.Result) (blocks []gjson.Result, path string) {
	if c := root.Get("content"); c.Exists() {
		return c.Array(), "content.%d"
	}
	if c := root.Get("contents"); c.IsArray() {
		return c.Array(), "contents.%d"
	}
	for _, m := range root.Get("messages").Array() {
		blocks = append(blocks, m.Get("content"))
	}
	return blocks, "messages.%d.content"
}

// blocks is the text of content blocks; ok is false when there is none.
func blocks(all []gjson.Result, path string) (t []byte, ok bool) {
	for i, b := range all {
		s, is := textBlock(b)
		if is {
			ok = ok || s != ""
		} else {
			s = instead(fmt.Sprintf(path, i), b)
		}
		t = append(slices.Grow(t, len(s)+1), s...)
		if len(t) > 0 && t[len(t)-1] != '\n' {
			t = append(t, '\n')
		}
	}
	if ok && !utf8.Valid(t) {
		t = bytes.ToValidUTF8(t, []byte("\uFFFD"))
	}
	return t, ok
}

func textBlock(b gjson.Result) (s string, ok bool) {
	switch b.Get("type").String() {
	case "": // of a resource
		if t := b.Get("text"); t.Type == gjson.String && b.Get("uri").Exists() {
			return t.String(), true
		}
	case "text":
		return b.Get("text").String(), true
	case "resource":
		if t := b.Get("resource.text"); t.Type == gjson.String {
			return t.String(), true
		}
	}
	return "", false
}

// instead is the line for a block that is no text, with the path to all of it.
func instead(path string, b gjson.Result) string {
	kind := b.Get("type").String()
	if len(kind) > 32 || kind == "" {
		kind = "other"
	}
	return "[" + strings.ToValidUTF8(strings.Map(printable, kind), "") + " block, " + strconv.Itoa(len(b.Raw)) + " bytes of JSON: path " + path + "]"
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

func countLines(t []byte) int64 {
	n := int64(bytes.Count(t, []byte("\n")))
	if len(t) > 0 && t[len(t)-1] != '\n' {
		n++
	}
	return n
}

// Head is the beginning of a result's text: whole lines of at most limit bytes, or
// as many whole characters when the first line is longer.
func Head(raw []byte, limit int) string {
	t := textOf(raw).bytes
	if len(t) <= limit {
		return string(t)
	}
	t = t[:backToRune(t, max(limit, 0))]
	if end := bytes.LastIndexByte(t, '\n'); end >= 0 {
		t = t[:end+1]
	}
	return string(t)
}

// backToRune is the last beginning of a character in t, valid UTF-8, that is not
// behind i.
func backToRune(t []byte, i int) int {
	for i > 0 && i < len(t) && !utf8.RuneStart(t[i]) {
		i--
	}
	return i
}
