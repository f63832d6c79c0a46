package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

var errNoObject = errors.New("the result is no JSON object")

// answerTo writes the answer to a request. failed is the JSON-RPC error code in it,
// 0 for a result.
func (s *Server) answerTo(d *demand, result json.RawMessage, err error) (message []byte, failed int) {
	id, modern := d.id, d.caller.Modern
	if err == nil {
		size := len(result)
		if d.prepared != nil {
			size = d.prepared.size()
		}
		b := make([]byte, 0, size+len(id)+len(s.info)+160)
		b = append(append(b, `{"jsonrpc":"2.0","id":`...), oneLine(id)...)
		b = append(b, `,"result":`...)
		if d.prepared != nil {
			b, err = d.prepared.appendTo(b, s, modern)
		} else {
			b, err = s.appendResult(b, result, modern)
		}
		if err == nil {
			return append(b, '}', '\n'), 0
		}
		s.opt.Log.Error("the answer to a request is no JSON object", "error", err)
	}
	code, text, data := wireError(err)
	return errorResponse(id, code, text, data), code
}

// appendResult appends a result on one line, and for a modern client what it lacks
// of 2026-07-28: resultType, and in _meta the server's own name. All the rest stays
// as it was written.
func (s *Server) appendResult(b []byte, result json.RawMessage, modern bool) ([]byte, error) {
	start := skipSpace(result, 0)
	if start == len(result) || result[start] != '{' || !utf8.Valid(result) {
		return b, errNoObject
	}
	var (
		members   int
		typed     bool
		meta      = -1
		metaEmpty bool
		named     bool
	)
	end, err := eachMemberAt(result, start, 0, func(name []byte, from, to int) {
		members++
		switch {
		case !modern:
		case sameName(name, "resultType"):
			typed = true
		case sameName(name, "_meta") && meta < 0:
			meta = from
			value := result[from:to:to]
			metaEmpty = isObject(value) && skipSpace(value, 1) == len(value)-1
			named = !isObject(value) || member(value, metaPrefix+"serverInfo") != nil
		}
	})
	if err != nil || skipSpace(result, end) != len(result) {
		return b, errNoObject
	}
	at := len(b)
	b = append(b, '{')
	if modern && !typed {
		b = append(b, `"resultType":"complete"`...)
		if members > 0 || meta < 0 {
			b = append(b, ',')
		}
	}
	rest := start + 1
	switch {
	case !modern || named:
	case meta < 0:
		b = append(append(append(b, `"_meta":{"`+metaPrefix+`serverInfo":`...), s.info...), '}')
		if members > 0 {
			b = append(b, ',')
		}
	default:
		b = append(b, result[rest:meta+1]...)
		b = append(append(b, `"`+metaPrefix+`serverInfo":`...), s.info...)
		if !metaEmpty {
			b = append(b, ',')
		}
		rest = meta + 1
	}
	b = append(b, result[rest:end]...)
	spaceLines(b[at:])
	return b, nil
}

// spaceLines is oneLine in place.
func spaceLines(value []byte) {
	for _, c := range []byte("\n\r") {
		for i := bytes.IndexByte(value, c); i >= 0; {
			value[i] = ' '
			next := bytes.IndexByte(value[i:], c)
			if next < 0 {
				break
			}
			i += next
		}
	}
}

// discover is the answer to server/discover.
func (s *Server) discover(ctx context.Context, c *Caller) json.RawMessage {
	d := s.handler.Describe(ctx, c)
	b := append([]byte(`{"resultType":"complete","supportedVersions":`), versionList()...)
	b = d.append(b)
	b = strconv.AppendInt(append(b, `,"ttlMs":`...), d.TTL.Milliseconds(), 10)
	scope := d.CacheScope
	if scope == "" {
		scope = "private"
	}
	b = appendString(append(b, `,"cacheScope":`...), scope)
	return append(b, '}')
}

// initialize is the answer to initialize in version.
func (s *Server) initialize(ctx context.Context, c *Caller) json.RawMessage {
	d := s.handler.Describe(ctx, c)
	b := append([]byte(`{"protocolVersion":`), appendString(nil, c.Version)...)
	b = d.append(b)
	b = append(append(b, `,"serverInfo":`...), s.info...)
	return append(b, '}')
}

// append appends what the answers of both eras have in common.
func (d *Description) append(b []byte) []byte {
	b = append(append(b, `,"capabilities":`...), oneLine(d.capabilities())...)
	if d.Instructions != "" {
		b = appendString(append(b, `,"instructions":`...), d.Instructions)
	}
	return b
}

func (d *Description) capabilities() json.RawMessage {
	if d.Capabilities == nil {
		return json.RawMessage("{}")
	}
	return d.Capabilities
}
