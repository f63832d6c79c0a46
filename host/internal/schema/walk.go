package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// quick looks for a quick yes: whether a value surely is valid, told from its bytes.
// It decodes nothing but strings with escapes that matter, and allocates for those
// alone. Anything but a yes means that the library has to say. Nearly every call's arguments are small and valid, so this is
// what a warm call costs.
type quick struct {
	src   []byte // one valid JSON value
	at    int
	steps int // left
	cost  int // of matching one byte against a pattern, in bytes
}

// A step is one value compared with one schema, or 32 bytes read. Schemas multiply
// them; past these bounds the library, which has a clock, may go on.
const (
	quickSteps        = 1_000
	quickStepsPerByte = 4
	bytesPerStep      = 32
)

// surely reports whether the value is valid without doubt.
func (s *Schema) surely(instance []byte) bool {
	switch {
	case s.quick.vague,
		// What affordable would refuse.
		s.doc.unique && len(instance) > maxUnique, s.doc.pattern > 0 && len(instance) > patternWork/s.doc.pattern,
		!json.Valid(instance), !utf8.Valid(instance):
		return false
	}
	q := quick{src: instance, steps: quickSteps + quickStepsPerByte*len(instance), cost: s.doc.pattern}
	q.space()
	return q.value(s.quick, 0)
}

// value reports whether the value at q.at, which lies in depth containers, fits r,
// and moves behind it. After a no it is anywhere.
func (q *quick) value(r *rule, depth int) bool {
	if q.steps--; r.vague || q.steps < 0 {
		return false
	}
	start := q.at
	if !q.self(r, depth) {
		return false
	}
	end := q.at
	for _, sub := range r.all {
		q.at = start
		if !q.value(sub, depth) {
			return false
		}
	}
	if len(r.any) > 0 {
		fits := false
		for _, sub := range r.any {
			q.at = start
			if fits = q.value(sub, depth); fits {
				break
			}
		}
		if !fits {
			return false
		}
	}
	q.at = end
	return true
}

// self is value without the schemas that apply in place.
func (q *quick) self(r *rule, depth int) bool {
	switch c := q.src[q.at]; c {
	case '{':
		return r.kinds&isObject != 0 && !r.chosen && depth < maxDepth && q.object(r, depth+1)
	case '[':
		return r.kinds&isArray != 0 && !r.chosen && depth < maxDepth && q.array(r, depth+1)
	case '"':
		return r.kinds&isString != 0 && q.string(r)
	case 't', 'f', 'n':
		size, of := len("true"), isBool
		if c == 'f' {
			size = len("false")
		} else if c == 'n' {
			of = isNull
		}
		literal := q.src[q.at : q.at+size]
		q.at += size
		return r.kinds&of != 0 && (!r.chosen || r.literals[string(literal)])
	default:
		return q.number(r)
	}
}

func (q *quick) object(r *rule, depth int) bool {
	missing := r.required
	for q.next('}') {
		name, ok := q.token()
		if !ok {
			return false
		}
		q.space()
		q.at++ // the colon
		q.space()
		m, known := r.members[string(name)]
		if known {
			missing &^= m.bit
		}
		of := m.rule
		if of == nil {
			if r.closed {
				return false
			}
			if of = r.rest; of == nil {
				of = &anything
			}
		}
		if !q.value(of, depth) {
			return false
		}
	}
	return missing == 0
}

func (q *quick) array(r *rule, depth int) bool {
	of := r.items
	if of == nil {
		of = &anything
	}
	n := 0
	for ; q.next(']'); n++ {
		if !q.value(of, depth) {
			return false
		}
	}
	return r.minItems <= n && n <= r.maxItems
}

// anything is the rule of values that no schema speaks about; they still have to
// stay within the bounds on values.
var anything = rule{kinds: isAny, maxItems: math.MaxInt}

func (q *quick) string(r *rule) bool {
	if !r.text && !r.chosen {
		q.skip()
		return true
	}
	text, ok := q.token()
	if !ok || r.chosen && !r.values[string(text)] {
		return false
	}
	if r.minLength > 0 || r.maxLength < len(text) {
		if n := utf8.RuneCount(text); n < r.minLength || n > r.maxLength {
			return false
		}
	}
	if r.pattern == nil {
		return true
	}
	q.steps -= len(text) * q.cost / bytesPerStep
	return q.steps >= 0 && r.pattern.Match(text)
}

// number takes integers that fit; other numbers only where nothing is compared.
func (q *quick) number(r *rule) bool {
	start := q.at
	whole := true
scan:
	for ; q.at < len(q.src); q.at++ {
		switch c := q.src[q.at]; {
		case '0' <= c && c <= '9', c == '-':
		case c == '.':
			whole = false
		case c == 'e', c == 'E', c == '+':
			return false
		default:
			break scan
		}
	}
	literal := q.src[start:q.at]
	if len(literal) > maxDigits || r.chosen && !r.literals[string(literal)] {
		return false
	}
	if !whole {
		return r.kinds&isNumber != 0 && !r.compared
	}
	if r.kinds&isInteger == 0 {
		return false
	}
	if !r.compared {
		return true
	}
	i, err := strconv.ParseInt(string(literal), 10, 64)
	return err == nil && r.min <= i && i <= r.max
}

// next moves to the next item or member of a container, or behind its end. It
// begins where the container does, and goes on where the last value ended.
func (q *quick) next(end byte) (more bool) {
	q.space()
	c := q.src[q.at]
	q.at++
	if c == end {
		return false
	}
	q.space()
	if c != ',' && q.src[q.at] == end { // it is empty
		q.at++
		return false
	}
	return true
}

// token returns the string at q.at as it is meant, and moves behind it.
func (q *quick) token() (text []byte, ok bool) {
	start := q.at
	if plain := q.skip(); plain {
		return q.src[start+1 : q.at-1], true
	}
	var s string
	if err := json.Unmarshal(q.src[start:q.at], &s); err != nil {
		return nil, false
	}
	return []byte(s), true
}

// skip moves behind the string at q.at. It is plain when it holds no escape.
func (q *quick) skip() (plain bool) {
	start := q.at
	plain = true
	for q.at++; q.src[q.at] != '"'; q.at++ {
		if q.src[q.at] == '\\' {
			plain = false
			q.at++
		}
	}
	q.at++
	q.steps -= (q.at - start) / bytesPerStep
	return plain
}

// space moves over white space.
func (q *quick) space() {
	for q.at < len(q.src) && (q.src[q.at] == ' ' || q.src[q.at] == '\n' || q.src[q.at] == '\t' || q.src[q.at] == '\r') {
		q.at++
	}
}
