package mcp

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/collet-dev/collet/sdk/failure"
)

// metaSize estimates what appendMeta adds of its own, in bytes.
const metaSize = 256

const metaPrefix = "io.modelcontextprotocol/"

// build prepares a request whose params come from outside: they go out as
// written, apart from their _meta.
func (c *Client) build(method string, params json.RawMessage, opt RequestOptions) (request, *failure.Failure) {
	if f := checkObject("the parameters of "+method, params); f != nil {
		return request{}, f
	}
	if f := checkObject("_meta", opt.Meta); f != nil {
		return request{}, f
	}
	theirs := member(trim(params), "_meta")
	if theirs != nil && !isObject(theirs) {
		return request{}, badArguments("_meta in the parameters of %s is no JSON object", method)
	}
	token := opt.OnProgress != nil || method == "tools/call"
	r := request{
		method:   method,
		size:     len(params) + len(opt.Meta) + metaSize,
		progress: opt.OnProgress,
		asked:    opt.OnRequest,
		noted:    opt.OnNotification,
		write: func(b []byte, id uint64) []byte {
			b = append(b, '{')
			b, comma := appendMembers(b, params, false, func(name []byte) bool { return sameName(name, "_meta") })
			if token || c.server.Load().Modern || opt.Meta != nil || theirs != nil {
				if comma {
					b = append(b, ',')
				}
				if !token {
					id = 0
				}
				b = append(b, `"_meta":{`...)
				b = c.appendMeta(b, theirs, opt.Meta, id)
				b = append(b, '}')
			}
			return append(b, '}')
		},
	}
	if key := named[method]; key != "" {
		r.name, _ = text(member(trim(params), key))
	}
	if method == "tools/call" {
		r.args = member(trim(params), "arguments")
	}
	return r, nil
}

// named are the methods whose target has a name, and the parameter it is in
// (2026-07-28, Streamable HTTP, Standard Request Headers).
var named = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// appendMeta appends the members of params._meta: what this connection must say,
// then more's, then theirs, each name once. token 0 is no progress token.
func (c *Client) appendMeta(b []byte, theirs, more []byte, token uint64) []byte {
	comma := false
	separate := func() {
		if comma {
			b = append(b, ',')
		}
		comma = true
	}
	if token != 0 {
		separate()
		b = append(b, `"progressToken":`...)
		b = strconv.AppendUint(b, token, 10)
	}
	server := c.server.Load()
	if server.Modern {
		separate()
		b = c.appendModern(b, server.ProtocolVersion, func(name string) bool { return member(more, name) != nil || member(theirs, name) != nil })
	}
	own := func(name []byte) bool {
		return sameName(name, "progressToken") || server.Modern && sameName(name, metaPrefix+"protocolVersion")
	}
	more, theirs = trim(more), trim(theirs)
	b, comma = appendMembers(b, more, comma, own)
	b, _ = appendMembers(b, theirs, comma, func(name []byte) bool {
		return own(name) || more != nil && member(more, string(name)) != nil
	})
	return b
}

// appendModern appends what every request of the modern era says of its sender,
// less what is given elsewhere; given nil is nothing.
func (c *Client) appendModern(b []byte, version string, given func(name string) bool) []byte {
	b = append(b, `"`+metaPrefix+`protocolVersion":`...)
	b = appendString(b, version)
	if given == nil || !given(metaPrefix+"clientCapabilities") {
		b = append(b, `,"`+metaPrefix+`clientCapabilities":`...)
		b = append(b, oneLine(c.opt.Capabilities)...)
	}
	if given == nil || !given(metaPrefix+"clientInfo") {
		b = append(b, `,"`+metaPrefix+`clientInfo":`...)
		b = c.opt.ClientInfo.append(b)
	}
	return b
}

func (i ClientInfo) append(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = appendString(b, i.Name)
	b = append(b, `,"version":`...)
	b = appendString(b, i.Version)
	return append(b, '}')
}

// checkObject refuses what would break the line it is sent on, or the server's
// parser. nil is no object to check.
func checkObject(what string, raw json.RawMessage) *failure.Failure {
	if raw == nil {
		return nil
	}
	if err := checkDocument(raw); err != nil {
		return badArguments("%s: the text %w", what, err)
	}
	if !isObject(trim(raw)) {
		return badArguments("%s must be a JSON object, not %s", what, quote(raw))
	}
	if !utf8.Valid(raw) {
		return badArguments("%s: the text is not valid UTF-8", what)
	}
	return nil
}

// trim cuts white space off the front of a JSON value.
func trim(raw []byte) []byte { return raw[skipSpace(raw, 0):] }
