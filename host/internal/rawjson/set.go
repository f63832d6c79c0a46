package rawjson

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Set is a JSON object with one member set to a value that is JSON already, every
// other byte kept: a member that is there, however often, keeps its place; one that is
// not comes first. A nil object is an empty one. A nil value sets nothing.
func Set(object []byte, key string, value []byte) []byte {
	if value == nil {
		return object
	}
	var (
		text    = string(object)
		members = false
		out     []byte
		copied  = 0
	)
	gjson.Parse(text).ForEach(func(k, v gjson.Result) bool {
		members = true
		if k.String() == key {
			out = append(append(out, text[copied:v.Index]...), value...)
			copied = v.Index + len(v.Raw)
		}
		return true
	})
	if copied > 0 {
		return append(out, text[copied:]...)
	}
	out = append(AppendString([]byte{'{'}, key), ':')
	out = append(out, value...)
	if !members {
		return append(out, '}')
	}
	return append(append(out, ','), text[strings.IndexByte(text, '{')+1:]...)
}
