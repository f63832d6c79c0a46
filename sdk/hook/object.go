package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// object is a JSON object whose members keep their order and their text: in an
// entry of mcp.toml the first pattern that fits wins.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("is not a JSON object")

func readObject(raw json.RawMessage) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var o object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		o = o.with(key.(string), value)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return o, nil
}

// with sets a member, at its place when it is there.
func (o object) with(key string, value json.RawMessage) object {
	if i := o.index(key); i >= 0 {
		o[i].value = value
		return o
	}
	return append(o, member{key, value})
}

func (o object) index(key string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.key == key })
}

func (o object) text() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(m.key) // a string always encodes
		b.Truncate(b.Len() - 1)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// merge applies a JSON Merge Patch (RFC 7396 section 2): null removes, objects are
// merged, all else replaces.
func merge(target, patch json.RawMessage) (json.RawMessage, error) {
	changes, err := readObject(patch)
	if errors.Is(err, errNoObject) && json.Valid(patch) {
		return patch, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := readObject(target)
	if err != nil {
		o = nil // what is no object counts as empty
	}
	for _, c := range changes {
		i := o.index(c.key)
		if string(c.value) == "null" {
			if i >= 0 {
				o = slices.Delete(o, i, i+1)
			}
			continue
		}
		old := json.RawMessage("null")
		if i >= 0 {
			old = o[i].value
		}
		value, err := merge(old, c.value)
		if err != nil {
			return nil, err
		}
		o = o.with(c.key, value)
	}
	return o.text(), nil
}
