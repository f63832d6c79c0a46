package mcp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// paramHeaders are the arguments that tools want repeated in headers, by the
// tools' names (2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters).
// Only tools with such arguments are in it; it is replaced as a whole.
type paramHeaders struct {
	tools atomic.Pointer[map[string][]paramHeader]
}

// paramHeader is one argument and its header.
type paramHeader struct {
	header string // "Mcp-Param-Region"
	path   []string
}

func (p *paramHeaders) replace(tools map[string][]paramHeader) {
	tools = maps.Clone(tools)
	p.tools.Store(&tools)
}

// set adds the headers for a call. An argument that is absent or null has none,
// nor has one whose type no header can carry: that is for the server to refuse.
func (p *paramHeaders) set(header http.Header, tool string, args []byte) {
	tools := p.tools.Load()
	if tools == nil {
		return
	}
	for _, h := range (*tools)[tool] {
		value := trim(args)
		for _, name := range h.path {
			value = member(value, name)
		}
		if s, ok := primitive(value); ok {
			header[h.header] = []string{headerValue(s)}
		}
	}
}

// primitive is a JSON string, integer or boolean as a header spells it.
func primitive(value []byte) (string, bool) {
	if s, ok := text(value); ok {
		return s, true
	}
	switch string(value) {
	case "true", "false":
		return string(value), true
	}
	n, ok := number(value)
	if !ok || n != math.Trunc(n) {
		return "", false
	}
	if digits := skipDigits(value, strings.IndexFunc(string(value), isDigit)); digits == len(value) {
		return string(value), true // as written, so that no digit of a large one is lost
	}
	return strconv.FormatFloat(n, 'f', -1, 64), true
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// headerValue encodes a string for a header (Value Encoding).
func headerValue(s string) string {
	plain := strings.Trim(s, " \t") == s && !(strings.HasPrefix(s, base64Prefix) && strings.HasSuffix(s, base64Suffix))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f || s[i] == '\t'
	}
	if plain {
		return s
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(s)) + base64Suffix
}

// headersOf finds the annotations in a tool's definition. An error means that one
// of them breaks the rules, and with it the whole tool.
func headersOf(tool []byte) ([]paramHeader, error) {
	schema := member(tool, "inputSchema")
	if !mayAnnotate(schema) {
		return nil, nil
	}
	w := schemaWalk{seen: map[string]bool{}}
	w.schema(schema, nil, true)
	return w.found, w.err
}

const annotation = "x-mcp-header"

// mayAnnotate spares most schemas the walk. Escapes in the name are not worth
// missing, and not worth more than this.
func mayAnnotate(schema []byte) bool {
	return strings.Contains(string(schema), annotation) || strings.Contains(string(schema), `\u`)
}

// schemaWalk collects annotations and notes the first rule that one breaks.
type schemaWalk struct {
	seen  map[string]bool // header names in lower case
	found []paramHeader
	err   error
}

func (w *schemaWalk) fail(path []string, why error) {
	if w.err == nil {
		w.err = fmt.Errorf("%s at %q: %w", annotation, strings.Join(path, "."), why)
	}
}

// schema looks at a schema. reachable says that only "properties" lead to it.
func (w *schemaWalk) schema(schema []byte, path []string, reachable bool) {
	if !isObject(schema) {
		if len(schema) > 0 && schema[0] == '[' { // anyOf, prefixItems, ...
			eachElement(schema, 0, 0, func(v []byte) { w.schema(v, path, false) })
		}
		return
	}
	if value := member(schema, annotation); value != nil {
		w.annotated(schema, value, path, reachable)
	}
	eachMember(schema, 0, 0, func(name, value []byte) {
		switch {
		case sameName(name, "properties"):
			w.named(value, path, reachable)
		case sameName(name, "$defs"), sameName(name, "definitions"), sameName(name, "patternProperties"), sameName(name, "dependentSchemas"):
			w.named(value, path, false)
		case sameName(name, "default"), sameName(name, "const"), sameName(name, "enum"), sameName(name, "examples"), sameName(name, annotation):
			// data, in which the name means nothing
		default:
			w.schema(value, path, false)
		}
	})
}

// named looks at schemas by their names.
func (w *schemaWalk) named(schemas []byte, path []string, reachable bool) {
	if !isObject(schemas) {
		return
	}
	eachMember(schemas, 0, 0, func(name, value []byte) {
		s, ok := text([]byte(`"` + string(name) + `"`))
		if ok {
			w.schema(value, append(path[:len(path):len(path)], s), reachable)
		}
	})
}

func (w *schemaWalk) annotated(schema, value []byte, path []string, reachable bool) {
	name, ok := text(value)
	lower := strings.ToLower(name)
	switch {
	case !reachable || len(path) == 0:
		w.fail(path, errors.New("only a property that is reached through properties alone can have one"))
	case !ok || name == "":
		w.fail(path, errors.New("it is no name"))
	case !isToken(name):
		w.fail(path, fmt.Errorf("%s is no name of an HTTP header", quote([]byte(name))))
	case w.seen[lower]:
		w.fail(path, fmt.Errorf("%q is used twice", name))
	case !isPrimitiveType(member(schema, "type")):
		w.fail(path, errors.New("its type must be string, integer or boolean"))
	default:
		w.seen[lower] = true
		w.found = append(w.found, paramHeader{header: http.CanonicalHeaderKey("Mcp-Param-" + name), path: path})
	}
}

// isPrimitiveType says whether a "type" allows what a header can carry, and null
// at most besides.
func isPrimitiveType(value []byte) bool {
	switch s, _ := text(value); s {
	case "string", "integer", "boolean":
		return true
	}
	if len(value) == 0 || value[0] != '[' {
		return false
	}
	n, all := 0, true
	eachElement(value, 0, 0, func(v []byte) {
		if s, _ := text(v); s != "null" {
			n++
			all = all && isPrimitiveType(v)
		}
	})
	return n == 1 && all
}

// isToken says whether s is a name of an HTTP field (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if !strings.ContainsRune("0123456789!#$%&'*+-.^_`|~", rune(c)) || c >= 0x80 {
				return false
			}
		}
	}
	return s != ""
}
