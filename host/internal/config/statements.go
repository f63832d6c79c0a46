package config

import (
	"slices"
	"strings"
)

// Statement is a header or a pair of a TOML document, with the bytes that it
// stands in. What comes behind it on its line is not part of it.
type Statement struct {
	// Path are the keys from the root to what it opens or sets.
	Path   []string
	Header bool // [a.b] or [[a.b]], else key = value
	Start  int  // of its first byte
	Value  int  // of the first byte of a pair's value
	End    int  // behind its last byte
}

// Statements are the statements of a document in the order of the file, for those
// who change a few bytes of it. The pairs within inline tables are not among them.
// The document has to be one that JSON takes.
func Statements(data []byte) ([]Statement, error) {
	text, err := plainText(Source{Data: data})
	if err != nil {
		return nil, err
	}
	mark := len(data) - len(text) // of the byte order
	s := &scanner{src: text, line: 1}
	var list []Statement
	var table []string
	for {
		s.blank()
		if s.i >= len(s.src) {
			return list, nil
		}
		st := Statement{Start: s.i + mark, Header: s.src[s.i] == '['}
		if st.Header {
			s.i++
			array := s.accept('[')
			path, err := s.keyPath()
			if err != nil {
				return nil, err
			}
			if !s.accept(']') || array && !s.accept(']') {
				return nil, errMalformed
			}
			table = keysOf(path)
			st.Path = table
		} else {
			path, err := s.keyPath()
			if err != nil {
				return nil, err
			}
			if !s.accept('=') {
				return nil, errMalformed
			}
			s.space()
			st.Path = slices.Concat(table, keysOf(path))
			st.Value = s.i + mark
			if err := s.value(&node{}); err != nil {
				return nil, err
			}
		}
		st.End = mark + len(strings.TrimRight(text[:s.i], " \t\r"))
		list = append(list, st)
	}
}

func keysOf(path []part) []string {
	list := make([]string, len(path))
	for i, p := range path {
		list[i] = p.name
	}
	return list
}
