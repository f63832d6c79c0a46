package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/sdk/failure"
)

// Raw is JSON of others, or whatever they sent in its place.
type Raw []byte

// The members that stand for what cannot be embedded.
const (
	asText   = "$text"
	asBase64 = "$base64"
)

// UnmarshalJSON takes a value as it stands, or what its stand-in says.
func (r *Raw) UnmarshalJSON(b []byte) error {
	var in struct {
		Text   *string `json:"$text"`
		Base64 *[]byte `json:"$base64"`
	}
	*r = bytes.Clone(b)
	if !standsIn(b) || json.Unmarshal(b, &in) != nil {
		return nil
	}
	switch {
	case in.Text != nil:
		*r = Raw(*in.Text)
	case in.Base64 != nil:
		*r = *in.Base64
	}
	return nil
}

// standsIn says whether a value looks like a stand-in.
func standsIn(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")), " \t\r\n")
	return bytes.HasPrefix(b, []byte(`"$`))
}

// append writes r so that the same bytes are read.
func (r Raw) append(dst []byte) []byte {
	plain := json.Valid(r) && utf8.Valid(r) && !bytes.ContainsAny(r, "\r\n") && len(bytes.TrimSpace(r)) == len(r) && !standsIn(r)
	switch {
	case plain:
		return append(dst, r...)
	case utf8.Valid(r):
		dst = append(dst, `{"`+asText+`":`...)
		return append(appendString(dst, string(r)), '}')
	}
	dst = append(dst, `{"`+asBase64+`":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, r), `"}`...)
}

// appendString writes s as a JSON string, <, > and & as they are.
func appendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// object is a JSON object being written. What is empty is left out.
type object struct{ b []byte }

func (o *object) key(name string) {
	o.b = append(o.b, "{,"[min(len(o.b), 1)])
	o.b = append(append(append(o.b, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = appendString(o.b, value)
	}
}

func (o *object) raw(name string, value Raw) {
	if len(value) > 0 {
		o.key(name)
		o.b = value.append(o.b)
	}
}

func (o *object) number(name string, value int64) {
	if value != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, value, 10)
	}
}

func (o *object) float(name string, value float64) {
	if b, err := json.Marshal(value); err == nil && value != 0 { // infinities have no JSON form
		o.key(name)
		o.b = append(o.b, b...)
	}
}

func (o *object) truth(name string, value bool) {
	if value {
		o.maybe(name, &value)
	}
}

func (o *object) maybe(name string, value *bool) {
	if value != nil {
		o.key(name)
		o.b = strconv.AppendBool(o.b, *value)
	}
}

func (o *object) list(name string, n int, element func(i int) []byte) {
	if n == 0 {
		return
	}
	o.key(name)
	for i := range n {
		o.b = append(append(o.b, "[,"[min(i, 1)]), element(i)...)
	}
	o.b = append(o.b, ']')
}

func (o *object) bytes() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// line is the entry as it is written, with its line break.
func (e *Entry) line() []byte {
	var o object
	o.text("kind", string(e.Kind))
	o.text("server", e.Server)
	o.raw("description", Raw(e.Description))
	o.raw("config", e.Config)
	o.truth("restartRequired", e.RestartRequired)
	o.raw("serverInfo", e.ServerInfo)
	o.list("forwardMethods", len(e.ForwardMethods), func(i int) []byte { return appendString(nil, e.ForwardMethods[i]) })
	o.text("page", e.Page)
	o.text("next", e.Next)
	o.list("tools", len(e.Tools), func(i int) []byte { return e.Tools[i].bytes() })
	o.text("tool", e.Tool)
	o.raw("arguments", e.Arguments)
	o.raw("meta", e.Meta)
	o.raw("inputResponses", e.InputResponses)
	o.text("requestState", e.RequestState)
	o.text("method", e.Method)
	o.raw("params", e.Params)
	o.text("resource", e.Resource)
	o.list("scopes", len(e.Scopes), func(i int) []byte { return appendString(nil, e.Scopes[i]) })
	o.truth("rejected", e.Rejected)
	o.list("events", len(e.Events), func(i int) []byte { return e.Events[i].bytes() })
	o.list("asks", len(e.Asks), func(i int) []byte { return e.Asks[i].bytes() })
	o.raw("result", e.Result)
	o.truth("isError", e.IsError)
	if e.Input != nil {
		var in object
		in.raw("requests", e.Input.Requests)
		in.text("state", e.Input.State)
		o.key("inputRequired")
		o.b = append(o.b, in.bytes()...)
	}
	if e.Failure != nil {
		o.key("failure")
		o.b = append(o.b, e.Failure.bytes()...)
	}
	o.number("ms", e.MS)
	return append(o.bytes(), '\n')
}

func (t *Tool) bytes() []byte {
	var o object
	o.text("name", t.Name)
	o.raw("definition", t.Definition)
	o.maybe("readOnly", t.ReadOnly)
	o.maybe("idempotent", t.Idempotent)
	o.truth("asksConsent", t.AsksConsent)
	o.raw("outputSchema", t.OutputSchema)
	return o.bytes()
}

func (a *Ask) bytes() []byte {
	var o object
	o.number("after", int64(a.After))
	o.text("method", a.Method)
	o.raw("params", a.Params)
	o.raw("result", a.Result)
	if a.Failure != nil {
		o.key("failure")
		o.b = append(o.b, a.Failure.bytes()...)
	}
	return o.bytes()
}

func (e *Event) bytes() []byte {
	var o object
	o.float("done", e.Done)
	o.float("total", e.Total)
	o.text("message", e.Message)
	o.text("level", e.Level)
	o.text("logger", e.Logger)
	o.raw("data", e.Data)
	return o.bytes()
}

func (f *Failure) bytes() []byte {
	var o object
	o.text("class", f.Class)
	o.text("delivery", f.Delivery)
	o.text("message", f.Message)
	o.number("retryAfterMs", f.RetryAfterMS)
	o.text("target", f.Target)
	o.number("upstreamCode", int64(f.UpstreamCode))
	o.raw("upstreamData", f.UpstreamData)
	o.list("problems", len(f.Problems), func(i int) []byte { return problem(f.Problems[i]) })
	o.text("challenge", f.Challenge)
	return o.bytes()
}

func problem(p failure.Problem) []byte {
	var o object
	o.text("path", p.Path)
	o.text("rule", p.Rule)
	o.text("message", p.Message)
	return o.bytes()
}

// Writer writes one session. Its methods are safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	w     io.Writer
	began bool
	err   error
	host  string
	now   func() time.Time
}

// NewWriter begins a session of a host of that version, with the first entry.
func NewWriter(w io.Writer, host string) *Writer { return &Writer{w: w, host: host, now: time.Now} }

// Add writes one entry, with one call of the underlying Write. clean is what every
// text of it goes through; nil leaves them as they are. The first error is final.
func (w *Writer) Add(e Entry, clean func(string) string) error {
	e.redact(clean)
	line := e.line()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if !w.began {
		w.began = true
		var o object
		o.text("collet", "recording")
		o.number("version", Version)
		o.text("at", w.now().UTC().Format(time.RFC3339))
		o.text("host", w.host)
		line = append(append(o.bytes(), '\n'), line...)
	}
	_, w.err = w.w.Write(line)
	return w.err
}

// Err is what kept entries from being written, nil when nothing did.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
