package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// json is the table under key as a JSON object, or nil when it is not said or
// has a fault.
func (t *table) json(key string) json.RawMessage {
	sub := t.table(key)
	if sub == nil {
		return nil
	}
	faults := len(t.l.cfg.Problems)
	w := jsonWriter{t: t}
	w.value(sub.path, sub.values, sub.node)
	if len(t.l.cfg.Problems) > faults {
		return nil
	}
	return w.buf.Bytes()
}

// jsonWriter writes TOML values as JSON: keys in file order, numbers with the
// digits they were written with.
type jsonWriter struct {
	t   *table // whose faults they are
	buf bytes.Buffer
}

func (w *jsonWriter) value(path string, v any, n *node) {
	switch v := v.(type) {
	case map[string]any:
		w.buf.WriteByte('{')
		for i, k := range order(v, n) {
			if i > 0 {
				w.buf.WriteByte(',')
			}
			w.buf.Write(jsonString(k))
			w.buf.WriteByte(':')
			w.value(joinKey(path, k), v[k], n.key(k))
		}
		w.buf.WriteByte('}')
	case []any:
		writeList(w, path, v, n)
	case []map[string]any: // [[path]]
		writeList(w, path, v, n)
	case string:
		w.buf.Write(jsonString(v))
	case bool:
		w.buf.WriteString(strconv.FormatBool(v))
	case int64:
		w.buf.WriteString(strconv.FormatInt(v, 10))
	case float64:
		w.float(path, v, n)
	case time.Time:
		w.buf.Write(jsonString(datetime(v, n)))
	}
}

func writeList[E any](w *jsonWriter, path string, list []E, n *node) {
	w.buf.WriteByte('[')
	for i, e := range list {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		w.value(fmt.Sprintf("%s[%d]", path, i), e, n.elem(i))
	}
	w.buf.WriteByte(']')
}

// float keeps the text of a float (1.0, 6.0e23), which JSON can hold once the
// sign + and the underscores are gone. JSON has no infinity.
func (w *jsonWriter) float(path string, v float64, n *node) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		w.t.faultAt(n, path, "inf and nan cannot be passed on as JSON; write a number, or a string if the plugin takes one")
		return
	}
	var text string
	if n != nil {
		text = strings.ReplaceAll(strings.TrimPrefix(n.text, "+"), "_", "")
	}
	if !json.Valid([]byte(text)) {
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	w.buf.WriteString(text)
}

// datetime is a date or time as written, in the spelling of RFC 3339.
func datetime(v time.Time, n *node) string {
	if n == nil {
		return v.Format(time.RFC3339Nano)
	}
	return strings.Replace(strings.ToUpper(n.text), " ", "T", 1)
}

// jsonString is s as a JSON string, with <, > and & as they are.
func jsonString(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// quoteJSON is jsonString for a place where text is put together.
func quoteJSON(s string) string { return string(jsonString(s)) }
