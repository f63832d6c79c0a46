package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/schema"
)

// Bounds on what a client gets of one tool's definition. Whoever reads a list reads
// all of it: one definition that a JSON parser gives up on, or that fills a model's
// memory, takes all other tools with it. The largest schemas that servers in the
// field publish have 150 KB.
const (
	maxSchema = 256 << 10 // bytes of inputSchema
	maxRest   = 256 << 10 // bytes of all else
	maxText   = 16 << 10  // bytes that are left of a description which does not fit
	// maxNesting bounds containers within each other, in a schema as package schema
	// bounds them: beyond that arguments are not checked either.
	maxNesting = schema.MaxDepth
	// deepest is how deep a definition may be for anything to be read out of it.
	deepest = 10_000
)

// anything is the schema that a tool is listed with when its own cannot be.
const anything = `{"type":"object"}`

// Members of a tool's _meta that say what of its definition is not in the list.
const (
	uncheckedKey = "collet.dev/unchecked" // why the schema says nothing of the arguments
	omittedKey   = "collet.dev/omitted"   // names of members
	uncheckedWhy = "the inputSchema is no JSON, too large, or nested too deep to be listed"
)

// appendDefinition appends a tool as its server wrote it, but under its wire name
// and with an inputSchema that says that it is an object: MCP demands it, and
// model interfaces refuse a whole list for one tool without it. A schema that
// says something else is left alone. What is out of bounds is left out.
func appendDefinition(dst []byte, t Tool) []byte {
	def := string(t.Definition)
	name, input, ok := lookAt(def)
	if !ok {
		return append(dst, reduced(t)...)
	}
	edits := []edit{{name.Index, name.Index + len(name.Raw), `"` + t.Wire + `"`}}
	if !input.Exists() {
		end := strings.LastIndexByte(def, '}')
		edits = append(edits, edit{end, end, `,"inputSchema":` + anything})
	} else {
		edits = append(edits, edit{input.Index, input.Index + len(input.Raw), ofObject(input)})
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	at := 0
	for _, e := range edits {
		dst = append(append(dst, def[at:e.from]...), e.text...)
		at = e.to
	}
	return append(dst, def[at:]...)
}

// edit puts text in the place of bytes from..to.
type edit struct {
	from, to int
	text     string
}

// ofObject is a schema that says that it is one of an object.
func ofObject(schema gjson.Result) string {
	switch {
	case !schema.IsObject():
		return anything
	case schema.Get("type").Exists():
		return schema.Raw
	case empty(schema):
		return `{"type":"object"` + schema.Raw[1:]
	}
	return `{"type":"object",` + schema.Raw[1:]
}

func empty(object gjson.Result) bool {
	none := true
	object.ForEach(func(_, _ gjson.Result) bool {
		none = false
		return false
	})
	return none
}

// listedSchema is the inputSchema that a tool is listed with.
func listedSchema(t Tool) json.RawMessage {
	if input := string(t.InputSchema); schemaFits(input) {
		return json.RawMessage(ofObject(gjson.Parse(input)))
	}
	return json.RawMessage(anything)
}

// lookAt finds what is changed in a definition that is otherwise listed as it is:
// JSON within bounds, that names no member twice. Of two, a client may take the
// other one, and the name would be the server's to choose.
func lookAt(def string) (name, input gjson.Result, ok bool) {
	if len(def) > maxSchema+maxRest || nesting(def) > maxNesting+1 || !gjson.Valid(def) || !gjson.Parse(def).IsObject() {
		return name, input, false
	}
	seen := map[string]bool{}
	twice := false
	gjson.Parse(def).ForEach(func(k, v gjson.Result) bool {
		key := k.String()
		switch twice, seen[folded(key)] = twice || seen[folded(key)], true; key {
		case "name":
			name = v
		case "inputSchema":
			input = v
		}
		return !twice
	})
	ok = !twice && name.Exists() && len(def)-len(input.Raw) <= maxRest && schemaFits(input.Raw)
	return name, input, ok
}

// folded is a member's name for parsers that do not tell capitals apart.
func folded(key string) string { return strings.ToLower(strings.ToUpper(key)) }

func schemaFits(input string) bool { return len(input) <= maxSchema && nesting(input) <= maxNesting }

// reduced is what can be listed of a definition that is out of bounds, and the
// names of what cannot.
func reduced(t Tool) []byte {
	var o rawjson.Object
	o.String("name", t.Wire)
	def, input, meta := string(t.Definition), gjson.Result{}, gjson.Result{}
	var omitted []string
	seen := map[string]bool{"name": true}
	left := maxRest
	readable := nesting(def) <= deepest && gjson.Valid(def) && gjson.Parse(def).IsObject()
	if readable {
		gjson.Parse(def).ForEach(func(k, v gjson.Result) bool {
			key := k.String()
			if seen[folded(key)] {
				return true
			}
			seen[folded(key)] = true
			if key == "inputSchema" {
				input = v
				return true
			}
			size := len(k.Raw) + len(v.Raw)
			fit := size <= left && nesting(v.Raw) <= maxNesting
			switch {
			case fit && key == "_meta":
				meta = v
			case fit:
				o.Raw(key, []byte(v.Raw))
			case key == "description" && v.Type == gjson.String && left >= maxText:
				size = maxText
				o.String(key, cutText(v.String(), maxText))
			default:
				size = 0
				if len(key) <= maxText {
					omitted = append(omitted, key)
				}
			}
			left -= size
			return true
		})
	}
	if input.Exists() && !schemaFits(input.Raw) {
		omitted, input = append(omitted, "inputSchema"), gjson.Result{}
	}
	o.Raw("inputSchema", []byte(ofObject(input)))
	var own rawjson.Object
	if !readable || slices.Contains(omitted, "inputSchema") {
		own.String(uncheckedKey, uncheckedWhy)
	}
	if omitted != nil {
		own.Strings(omittedKey, omitted)
	}
	if m := with(meta, own.Bytes()); len(m) > len(`{}`) {
		o.Raw("_meta", m)
	}
	return o.Bytes()
}

// with is a JSON object with the members of another one behind its own.
func with(object gjson.Result, more []byte) []byte {
	switch {
	case !object.IsObject() || empty(object):
		return more
	case len(more) == len(`{}`):
		return []byte(object.Raw)
	}
	end := strings.LastIndexByte(object.Raw, '}')
	return append([]byte(object.Raw[:end]+","), more[1:]...)
}

// cutText is the beginning of a text, of at most max bytes.
func cutText(text string, max int) string {
	const more = "..."
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max-len(more)], "") + more
}

// nesting is how deep the containers of a JSON text are nested. It reads the text
// once and goes down nowhere itself.
func nesting(text string) int {
	depth, most := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}
