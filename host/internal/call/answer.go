package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// ErrorKey is the member of an MCP result's _meta that has the error where
// structuredContent may not.
const ErrorKey = "collet.dev/error"

const (
	// maxMessage bounds what a model is told of a failure's message, in bytes;
	// upstreams put whole pages there.
	maxMessage = 4 << 10
	// maxProblems bounds how many broken rules a model is told one by one.
	maxProblems = 16
)

// Answer is the failure as the MCP result of a tool, for a model: a text, and
//
//	{"error": {"code": the class, "message", "delivery", "server", "tool", "retryAfterMs", "upstreamCode", "problems"}}
//
// of which the members that are not known are left out. That is the
// structuredContent, or with structured false, the member ErrorKey of _meta: it has
// to be false for a tool that is listed with an outputSchema, because clients hold
// every structuredContent against it, that of an error too, and drop the result.
func (f *Failure) Answer(structured bool) json.RawMessage {
	var e rawjson.Object
	e.String("code", f.Class.String())
	e.String("message", excerpt(f.Message))
	e.String("delivery", f.Delivery.String())
	if f.Server != "" {
		e.String("server", f.Server)
	}
	if f.Tool != "" {
		e.String("tool", f.Tool)
	}
	if f.RetryAfter > 0 {
		e.Int("retryAfterMs", f.RetryAfter.Milliseconds())
	}
	if f.UpstreamCode != 0 {
		e.Int("upstreamCode", int64(f.UpstreamCode))
	}
	if len(f.Problems) > 0 {
		var all [][]byte
		for _, p := range f.Problems[:min(len(f.Problems), maxProblems)] {
			var o rawjson.Object
			o.String("path", excerpt(p.Path))
			o.String("rule", excerpt(p.Rule))
			o.String("message", excerpt(p.Message))
			all = append(all, o.Bytes())
		}
		e.Raw("problems", rawjson.Array(all))
	}
	return toolError(f.text(), e.Bytes(), structured)
}

// text is what a model reads: what went wrong, and what that means for trying
// again.
func (f *Failure) text() string {
	var b strings.Builder
	if name := strings.Trim(f.Server+"/"+f.Tool, "/"); name != "" {
		b.WriteString(name + ": ")
	}
	b.WriteString(strings.TrimRight(excerpt(f.Failure.Error()), ". \n") + ".")
	if f.Class == failure.Canceled && f.Delivery == failure.DeliveryUnknown {
		b.WriteString(" The tool may have run.")
	}
	if f.Misconfigured {
		b.WriteString(" A person has to correct the server's configuration first; trying again does not help.")
	} else if f.RetryAfter > 0 {
		// A second early is too early.
		fmt.Fprintf(&b, " Try again in %d s.", (f.RetryAfter+time.Second-1)/time.Second)
	}
	return b.String()
}

func excerpt(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// toolError is an MCP result that says it is an error.
func toolError(text string, object []byte, structured bool) json.RawMessage {
	b := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	b = append(b, `}],"isError":true,`...)
	if structured {
		b = append(append(b, `"structuredContent":`...), envelope(object)...)
	} else {
		b = rawjson.AppendString(append(b, `"_meta":{`...), ErrorKey)
		b = append(append(append(b, ':'), object...), '}')
	}
	return append(b, '}')
}

func envelope(object []byte) []byte {
	return append(append([]byte(`{"error":`), object...), '}')
}
