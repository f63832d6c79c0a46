package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// checkHeaders holds what a modern request repeats in headers against its body,
// which is what is served (2026-07-28, Streamable HTTP, Standard Request Headers and
// Custom Headers from Tool Parameters). spoken is the protocol version in the body,
// "" for none.
func (s *Server) checkHeaders(r *http.Request, d *demand, spoken string) error {
	version, given := oneValue(r.Header, versionHeader)
	switch {
	case spoken != "" && (!given || version != spoken):
		return headerMismatch(versionHeader)
	case spoken == "" && version == modernVersion:
		return invalidMeta("protocolVersion", "is missing")
	case spoken == "" && isModern(r) && d.method != "initialize":
		return unsupportedVersion(version)
	case spoken != modernVersion:
		return nil
	}
	if method, given := oneValue(r.Header, "Mcp-Method"); !given || method != d.method {
		return headerMismatch("Mcp-Method")
	}
	key := named[d.method]
	if key == "" {
		return nil
	}
	name, ok := text(member(d.params, key))
	if header, given := oneValue(r.Header, "Mcp-Name"); given || ok {
		if header, valid := headerText(header); !given || !valid || header != name {
			return headerMismatch("Mcp-Name")
		}
	}
	if d.method != "tools/call" || !ok || s.opt.InputSchema == nil || d.caller == nil {
		return nil
	}
	return checkParams(r.Header, s.opt.InputSchema(r.Context(), d.caller, name), member(d.params, "arguments"))
}

func headerMismatch(header string) error {
	return &WireError{Code: codeHeaderMismatch, Message: fmt.Sprintf("Header mismatch: %s does not say what the request says", header)}
}

// oneValue is the value of a header that must not come twice with different ones.
func oneValue(h http.Header, name string) (string, bool) {
	values := h[name]
	if len(values) == 0 {
		return "", false
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", true // which never matches
		}
	}
	return strings.Trim(values[0], " \t"), true
}

// headerText is the string that headerValue has written.
func headerText(value string) (string, bool) {
	encoded, ok := strings.CutPrefix(value, base64Prefix)
	if ok {
		encoded, ok = strings.CutSuffix(encoded, base64Suffix)
	}
	if !ok {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(b), err == nil
}

// checkParams checks the headers that a tool's schema wants arguments repeated in. A
// schema that breaks the rules for that wants none: clients do not list its tool.
func checkParams(h http.Header, schema, args []byte) error {
	if !bytes.Contains(schema, []byte(annotation)) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil
	}
	if checkDocument(schema) != nil {
		return nil
	}
	w := schemaWalk{seen: map[string]bool{}}
	w.schema(trim(schema), nil, true)
	if w.err != nil {
		return nil
	}
	for _, p := range w.found {
		value := args
		for _, name := range p.path {
			value = member(value, name)
		}
		header, given := oneValue(h, p.header)
		switch want, ok := primitive(value); {
		case value == nil || isNull(value):
			if given {
				return headerMismatch(p.header)
			}
		case !ok: // no header can say it, and the arguments break the schema
		case !given:
			return headerMismatch(p.header)
		default:
			if got, valid := headerText(header); !valid || got != want {
				return headerMismatch(p.header)
			}
		}
	}
	return nil
}
