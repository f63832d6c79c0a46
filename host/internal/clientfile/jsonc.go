package clientfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// strictJSON is JSON with comments and trailing commas (JSONC, as VS Code calls
// it) as plain JSON. Every byte keeps its place, so that errors name the right
// line.
func strictJSON(data []byte) (json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, errors.New("is UTF-16 text; save it as UTF-8")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8 text")
	}
	plain := blankComments(data)
	var raw json.RawMessage
	err := json.Unmarshal(plain, &raw)
	if err == nil {
		return raw, nil
	}
	if len(bytes.TrimSpace(plain)) == 0 {
		return json.RawMessage("{}"), nil // clients create their file empty
	}
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	// The offset is behind the byte that is wrong, and behind the end when the
	// rest is missing.
	before := plain[:min(max(syntax.Offset-1, 0), int64(len(plain)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return nil, fmt.Errorf("is not JSON at line %d, column %d: %s", line, column, syntax.Error())
}

// blankComments returns data with comments, and commas before a closing bracket,
// replaced by spaces.
func blankComments(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // a comma with only blanks behind it so far
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end, closed := commentEnd(out, i)
			if !closed {
				return out
			}
			for ; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		default:
			comma = -1
		}
	}
	return out
}

// commentEnd is the end of the comment that begins at i, if it is closed.
func commentEnd(text []byte, i int) (end int, closed bool) {
	if text[i+1] == '/' {
		if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n, true
		}
		return len(text), true
	}
	n := bytes.Index(text[i+2:], []byte("*/"))
	return i + 2 + n + 2, n >= 0
}

// object is a JSON object: its keys in file order, the last value of each.
type object struct {
	keys    []string
	members map[string]gjson.Result
}

func asObject(v gjson.Result) (object, bool) {
	if !v.IsObject() {
		return object{}, false
	}
	o := object{members: map[string]gjson.Result{}}
	v.ForEach(func(k, member gjson.Result) bool {
		key := k.String()
		if _, ok := o.members[key]; !ok {
			o.keys = append(o.keys, key)
		}
		o.members[key] = member // as JSON.parse has it, which the clients use
		return true
	})
	return o, true
}

// has reports whether key is there and not null.
func (o object) has(key string) bool {
	v, ok := o.members[key]
	return ok && v.Type != gjson.Null
}

// object is the object under key, empty when there is none.
func (o object) object(key string) object {
	sub, _ := asObject(o.members[key])
	return sub
}
