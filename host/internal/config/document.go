package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// JSON is a TOML document as a JSON object: keys in file order, numbers with the
// digits they were written with, datetimes as RFC 3339 strings. It is for the
// TOML files of other programs, within the bounds that an mcp.toml has.
func JSON(data []byte) (json.RawMessage, error) {
	text, err := plainText(Source{Data: data})
	if err != nil {
		return nil, errors.New(unskipped(err.Error()))
	}
	root, stop, err := scan(text)
	if errors.Is(err, errTooDeep) {
		return nil, fmt.Errorf("line %d: %w", stop.line, err)
	}
	values, syntax := decode(text)
	if syntax != nil {
		return nil, fmt.Errorf("is not TOML at line %d, column %d: %s", syntax.Line, syntax.Column, unskipped(syntax.Message))
	}
	l := newLoader()
	w := jsonWriter{t: &table{l: l, values: values, node: root}}
	w.value("", values, root)
	for _, p := range l.cfg.Problems {
		return nil, fmt.Errorf("line %d: %s: %s", p.Line, p.Key, p.Message)
	}
	return w.buf.Bytes(), nil
}

// unskipped is a loader's message without what the loader does about it.
func unskipped(message string) string { return strings.TrimSuffix(message, "; the file is skipped") }
