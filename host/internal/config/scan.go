package config

import (
	"errors"
	"slices"
	"strings"
)

// Bounds of the text, checked before the TOML library sees it: the library
// recurses once per level and copies the whole path of every key several times.
const (
	maxDepth = 64   // keys and array levels from the top to a value
	maxPath  = 1024 // bytes of all keys on the way to a value
)

// position is a place in a file; line and column (in bytes) count from 1. The
// zero position is an unknown place.
type position struct{ offset, line, column int }

// node is what the scanner knows of one table, array or value: where its key is,
// and what it holds. All methods work on nil, which knows nothing.
type node struct {
	pos      position // of its key; of an array's element, its first byte
	declared bool     // it has a key or header of its own, not only parts of longer ones
	text     string   // of a value: as written, quotes included
	keys     map[string]*node
	elems    []*node

	depth, path int // levels above it, bytes of their keys
}

func (n *node) at() position {
	if n == nil {
		return position{}
	}
	return n.pos
}

func (n *node) key(name string) *node {
	if n == nil {
		return nil
	}
	return n.keys[name]
}

func (n *node) elem(i int) *node {
	if n == nil || i < 0 || i >= len(n.elems) {
		return nil
	}
	return n.elems[i]
}

// order returns the keys of table, which n describes, in file order.
func order(table map[string]any, n *node) []string {
	keys := make([]string, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := n.key(a).at().offset - n.key(b).at().offset; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}

var (
	// errMalformed is left to the TOML library to explain.
	errMalformed = errors.New("not TOML")
	errTooDeep   = errors.New("keys are nested too deep here, or too long; at most 64 levels and 1024 bytes")
)

// scanner walks the text of a TOML document and notes where its keys are, which
// the TOML library does not tell. It checks only what it needs to find its way:
// whether the document is TOML is for the library to say.
type scanner struct {
	src string
	i   int

	// Line counting, up to counted.
	counted, line, lineStart int
}

// scan returns the tree of a document. With an error (errMalformed or
// errTooDeep) the tree is what was found before the returned position.
func scan(src string) (*node, position, error) {
	s := &scanner{src: src, line: 1}
	root := &node{}
	err := s.document(root)
	return root, s.here(), err
}

// here is the current position. The scanner never moves backward.
func (s *scanner) here() position {
	i := min(s.i, len(s.src))
	for ; s.counted < i; s.counted++ {
		if s.src[s.counted] == '\n' {
			s.line++
			s.lineStart = s.counted + 1
		}
	}
	return position{offset: i, line: s.line, column: i - s.lineStart + 1}
}

func (s *scanner) document(root *node) error {
	table := root
	for {
		s.blank()
		if s.i >= len(s.src) {
			return nil
		}
		var err error
		if s.src[s.i] == '[' {
			table, err = s.header(root)
		} else {
			err = s.pair(table)
		}
		if err != nil {
			return err
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the table it opens.
func (s *scanner) header(root *node) (*node, error) {
	s.i++
	array := s.accept('[')
	path, err := s.keyPath()
	if err != nil {
		return nil, err
	}
	if !s.accept(']') || array && !s.accept(']') {
		return nil, errMalformed
	}
	t := root
	for i, p := range path {
		if t, err = t.child(p); err != nil {
			return nil, err
		}
		if last := i == len(path)-1; last && array {
			t.elems = append(t.elems, &node{pos: p.pos, declared: true, depth: t.depth + 1, path: t.path})
		} else if last {
			t.pos, t.declared = p.pos, true
		}
		if n := len(t.elems); n > 0 {
			t = t.elems[n-1] // a header goes on in the newest table of an array
		}
	}
	return t, nil
}

// pair reads key = value into table t.
func (s *scanner) pair(t *node) error {
	path, err := s.keyPath()
	if err != nil {
		return err
	}
	if !s.accept('=') {
		return errMalformed
	}
	for _, p := range path {
		if t, err = t.child(p); err != nil {
			return err
		}
	}
	t.pos, t.declared = path[len(path)-1].pos, true
	s.space()
	return s.value(t)
}

func (s *scanner) value(n *node) error {
	if s.i >= len(s.src) {
		return errMalformed
	}
	start := s.i
	switch s.src[s.i] {
	case '[':
		return s.list(']', func() error {
			e := &node{pos: s.here(), depth: n.depth + 1, path: n.path}
			if e.depth > maxDepth {
				return errTooDeep
			}
			n.elems = append(n.elems, e)
			return s.value(e)
		})
	case '{':
		return s.list('}', func() error { return s.pair(n) })
	case '"', '\'':
		if err := s.quoted(); err != nil {
			return err
		}
	default:
		end := strings.IndexAny(s.src[s.i:], ",]}#\r\n")
		if end < 0 {
			end = len(s.src) - s.i
		}
		s.i += end
	}
	n.text = strings.TrimRight(s.src[start:s.i], " \t")
	if n.text == "" {
		return errMalformed
	}
	return nil
}

// list reads what stands between brackets, separated by commas.
func (s *scanner) list(end byte, item func() error) error {
	s.i++
	for {
		s.blank()
		if s.accept(end) {
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		s.blank()
		if !s.accept(',') {
			if s.accept(end) {
				return nil
			}
			return errMalformed
		}
	}
}

// quoted passes a string value, of one or of several lines.
func (s *scanner) quoted() error {
	quote := s.src[s.i]
	triple := strings.Repeat(string(quote), 3)
	if !strings.HasPrefix(s.src[s.i:], triple) {
		return s.oneLine(quote)
	}
	s.i += len(triple)
	for s.i < len(s.src) {
		switch {
		case s.src[s.i] == '\\' && quote == '"':
			s.i += 2
		case strings.HasPrefix(s.src[s.i:], triple):
			s.i += len(triple)
			for range 2 { // one or two quotes may stand right before the closing three
				s.accept(quote)
			}
			return nil
		default:
			s.i++
		}
	}
	return errMalformed
}

// oneLine passes a string of one line, from its opening quote.
func (s *scanner) oneLine(quote byte) error {
	for s.i++; s.i < len(s.src); s.i++ {
		switch s.src[s.i] {
		case quote:
			s.i++
			return nil
		case '\n':
			return errMalformed
		case '\\':
			if quote == '"' {
				s.i++
			}
		}
	}
	return errMalformed
}

// accept passes c if it is next.
func (s *scanner) accept(c byte) bool {
	if s.i < len(s.src) && s.src[s.i] == c {
		s.i++
		return true
	}
	return false
}

// space passes blanks within a line.
func (s *scanner) space() {
	for s.i < len(s.src) && (s.src[s.i] == ' ' || s.src[s.i] == '\t') {
		s.i++
	}
}

// blank passes blanks, line ends and comments.
func (s *scanner) blank() {
	for s.i < len(s.src) {
		switch s.src[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		case '#':
			end := strings.IndexByte(s.src[s.i:], '\n')
			if end < 0 {
				s.i = len(s.src)
				return
			}
			s.i += end
		default:
			return
		}
	}
}
