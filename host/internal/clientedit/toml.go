package clientedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/rawtoml"
)

// tomlText is a TOML file that clientfile can read.
type tomlText struct{ data []byte }

// errInline is an entry that is no table of its own.
var errInline = errors.New("the entry is written within another one; write it as a [mcp_servers.NAME] table, or take it out first")

// connect puts name with its members into the table as a table of its own, behind
// everything else, or brings an entry of that name up to date: the members are set,
// others are taken away, the rest stays.
func (t tomlText) connect(table []string, name string, list []member, others []string) ([]byte, error) {
	path := append(slices.Clone(table), name)
	there, err := t.has(path)
	if err != nil {
		return nil, err
	}
	if !there {
		return t.add(path, list)
	}
	for _, key := range others {
		if t.data, err = t.remove(append(slices.Clone(path), key)); err != nil {
			return nil, err
		}
	}
	for _, m := range list {
		if t.data, err = t.set(path, m); err != nil {
			return nil, err
		}
	}
	return t.data, nil
}

// has says whether there is something at path.
func (t tomlText) has(path []string) (bool, error) {
	raw, err := config.JSON(t.data)
	if err != nil {
		return false, err
	}
	v := gjson.ParseBytes(raw)
	for i, key := range path {
		m := members(v)
		if m[key] == "" {
			return false, nil
		}
		if v = gjson.Parse(m[key]); i < len(path)-1 && !v.IsObject() {
			return false, fmt.Errorf("%s is not a table", strings.Join(path[:i+1], "."))
		}
	}
	return true, nil
}

// add writes a table behind everything else.
func (t tomlText) add(path []string, list []member) ([]byte, error) {
	// An inline table is complete (TOML 1.0, "Inline Table"); not every parser says so.
	statements, err := config.Statements(t.data)
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if n := len(s.Path); !s.Header && n < len(path) && slices.Equal(s.Path, path[:n]) {
			return nil, fmt.Errorf("%s is an inline table, which nothing can be added to; write its servers as [%s.NAME] tables", dotted(s.Path), dotted(s.Path))
		}
	}
	nl := newline(t.data)
	text := "[" + dotted(path) + "]" + nl
	for _, m := range list {
		text += pair(m) + nl
	}
	rest := bytes.TrimPrefix(t.data, mark)
	if len(rest) > 0 {
		text = nl + text
		if !bytes.HasSuffix(rest, []byte("\n")) {
			text = nl + text
		}
	}
	return slices.Concat(t.data, []byte(text)), nil
}

// set gives a value of a table with a header of its own.
func (t tomlText) set(table []string, m member) ([]byte, error) {
	list, err := config.Statements(t.data)
	if err != nil {
		return nil, err
	}
	path := append(slices.Clone(table), m.key)
	behind := -1 // where a new pair goes
	within := false
	for _, s := range list {
		switch {
		case s.Header:
			within = slices.Equal(s.Path, table)
		case !s.Header && slices.Equal(s.Path, path):
			if t.equal(s, m.value) {
				return t.data, nil
			}
			return apply(t.data, change{s.Value, s.End, literal(m.value)}), nil
		}
		if within {
			behind = s.End
		}
	}
	if behind < 0 {
		return nil, errInline
	}
	if n := bytes.IndexByte(t.data[behind:], '\n'); n >= 0 {
		behind += n // and a comment
	} else {
		behind = len(t.data)
	}
	if behind > 0 && t.data[behind-1] == '\r' {
		behind--
	}
	return apply(t.data, change{behind, behind, newline(t.data) + pair(m)}), nil
}

// equal says whether a pair has that value already.
func (t tomlText) equal(s config.Statement, value any) bool {
	raw, err := clientfile.JSON("x.toml", slices.Concat([]byte("x = "), t.data[s.Value:s.End]))
	return err == nil && same(gjson.GetBytes(raw, "x"), value)
}

// remove takes away what the statements at path and below it say. It fails where
// there is no statement of its own for what is at path.
func (t tomlText) remove(path []string) ([]byte, error) {
	there, err := t.has(path)
	if err != nil || !there {
		return t.data, err
	}
	list, err := config.Statements(t.data)
	if err != nil {
		return nil, err
	}
	var changes []change
	for _, s := range list {
		if len(s.Path) >= len(path) && slices.Equal(s.Path[:len(path)], path) {
			changes = append(changes, t.line(s))
		}
	}
	if len(changes) == 0 {
		return nil, errInline
	}
	first, rest := &changes[0], t.data[changes[len(changes)-1].to:]
	// The blank line that set a table apart goes with it, where none is needed.
	if len(rest) == 0 || bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n")) {
		for _, blank := range []string{"\r\n\r\n", "\n\n"} {
			if bytes.HasSuffix(t.data[:first.from], []byte(blank)) {
				first.from -= len(blank) / 2
				break
			}
		}
	}
	return apply(t.data, changes...), nil
}

// line is the change that takes a statement away: its lines when it is alone on
// them, but not a comment behind it.
func (t tomlText) line(s config.Statement) change {
	c := change{from: s.Start, to: s.End}
	for c.from > 0 && isBlank(t.data[c.from-1]) {
		c.from--
	}
	if c.from > 0 && t.data[c.from-1] != '\n' {
		return c
	}
	end := c.to
	for end < len(t.data) && (isBlank(t.data[end]) || t.data[end] == '\r') {
		end++
	}
	switch {
	case end == len(t.data):
		c.to = end
	case t.data[end] == '\n':
		c.to = end + 1
	}
	return c
}

// pair is key = value.
func pair(m member) string { return dotted([]string{m.key}) + " = " + literal(m.value) }

func dotted(path []string) string {
	keys := make([]string, len(path))
	for i, k := range path {
		keys[i] = rawtoml.Key(k)
	}
	return strings.Join(keys, ".")
}

// literal is a value on one line.
func literal(value any) string {
	switch value := value.(type) {
	case string:
		return rawtoml.Quote(value)
	case []string:
		items := make([]string, len(value))
		for i, s := range value {
			items[i] = rawtoml.Quote(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return `""`
}
