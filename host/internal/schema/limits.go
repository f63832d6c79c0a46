package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// MaxDepth is how deep containers of a schema that is checked may be nested: about
// 60 levels of properties.
const MaxDepth = 128

// Bounds on schemas. The largest that real servers publish are 75 to 150 KB with
// a few thousand sub-schemas; the work of compiling grows with the square of their
// number in the library.
const (
	maxSize      = 1 << 20   // bytes of the schema
	maxSchemas   = 5_000     // sub-schemas
	maxExpansion = 20_000    // schemas that one value is checked against
	maxChain     = 64        // references and combinations followed for one value
	maxProgram   = 40_000    // instructions of all patterns together
	maxSearch    = 5_000_000 // steps that the library takes to find resources and anchors, which it searches for one by one
	maxReferred  = 4 << 20   // bytes below all targets of references, which the library may read once more each
)

// Bounds on values.
const (
	maxDepth    = 64    // nested containers
	maxExponent = 1_024 // of a number: past any double, and cheap to compare exactly
	maxDigits   = 4_096 // bytes of a number's literal

	// patternWork bounds bytes of the longest string x instructions of the largest
	// pattern: a match is linear in both (RE2) and cannot be interrupted.
	patternWork = 100_000_000
	// maxUnique bounds items of an array of arrays or objects under uniqueItems: the
	// library compares those that hash alike pairwise, and strangers choose them.
	maxUnique = 2_000
)

// checkTime and checkTimePerByte bound one validation; a large value may take
// longer in proportion (measured: 140 to 350 ns for a byte on one core), but
// not because schemas multiply.
const (
	checkTime        = time.Second
	checkTimePerByte = 2 * time.Microsecond
)

// ruleLimit is the rule of a value that cannot be checked within bounds.
const ruleLimit = "limit"

var errOvertime = errors.New("validation takes too long")

// meter stops a validation that takes too long. The library offers no way to
// interrupt one; but it lets an extension keyword take part in every schema.
type meter struct {
	deadline time.Time
	steps    uint
}

func (m *meter) start(limit time.Duration) { m.deadline, m.steps = time.Now().Add(limit), 0 }

// Compile makes the meter a part of every schema.
func (m *meter) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return m, nil
}

// Validate panics with errOvertime when the time is over; run recovers it.
func (m *meter) Validate(jsonschema.ValidationContext, any) error {
	if m.steps++; m.steps%4 == 0 && time.Now().After(m.deadline) {
		panic(errOvertime)
	}
	return nil
}

// survey is what there is to know about a JSON value before working with it.
type survey struct {
	size    int    // roughly its bytes
	depth   int    // nested containers
	text    int    // bytes of its longest string or name
	items   int    // items of its longest array that holds containers
	number  string // the first number that is out of bounds, "" for none
	pointer string // where that is
}

func (v *survey) walk(value any, pointer string, depth int) {
	v.depth = max(v.depth, depth)
	if depth > MaxDepth { // the larger of the two limits on depth
		return
	}
	switch value := value.(type) {
	case map[string]any:
		v.depth = max(v.depth, depth+1)
		for name, member := range value {
			v.size += len(name) + 4
			v.text = max(v.text, len(name))
			if v.number == "" { // the pointer is of use for the first bad number alone
				v.walk(member, pointer+"/"+escape(name), depth+1)
			}
		}
	case []any:
		v.depth = max(v.depth, depth+1)
		containers := false
		for i, item := range value {
			switch item.(type) {
			case map[string]any, []any:
				containers = true
			}
			v.size++
			if v.number == "" {
				v.walk(item, pointer+"/"+strconv.Itoa(i), depth+1)
			}
		}
		if containers {
			v.items = max(v.items, len(value))
		}
	case string:
		v.size += len(value) + 2
		v.text = max(v.text, len(value))
	case json.Number:
		v.size += len(value)
		if !exact(value) {
			v.number, v.pointer = clip(string(value)), pointer
		}
	default:
		v.size += 4
	}
}

// exact reports whether a number can be compared exactly at little cost:
// 1e1000000000 would be a gigabyte of digits.
func exact(n json.Number) bool {
	if len(n) > maxDigits {
		return false
	}
	i := strings.IndexAny(string(n), "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(string(n[i+1:]))
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// affordable returns the size of a value, or why it cannot be checked.
func (s *Schema) affordable(value any) (size int, problem *failure.Problem) {
	var v survey
	v.walk(value, "", 0)
	limit := func(pointer, format string, args ...any) (int, *failure.Problem) {
		return 0, &failure.Problem{Path: pointer, Rule: ruleLimit, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case v.depth > maxDepth:
		return limit("", "is nested too deep to be checked; at most %d levels are", maxDepth)
	case v.number != "":
		return limit(v.pointer, "%s is a number too large to be checked; exponents go from -%d to %d", v.number, maxExponent, maxExponent)
	case v.text*s.doc.pattern > patternWork:
		return limit("", "holds a text of %d bytes, too long to be checked against the schema's patterns", v.text)
	case s.doc.unique && v.items > maxUnique:
		return limit("", "holds an array of %d items, too many to be checked for equal ones; at most %d are", v.items, maxUnique)
	}
	return v.size, nil
}

// programSize estimates the instructions that a pattern compiles to, without
// compiling it: a{1000} is short to write and long to run.
func programSize(re *syntax.Regexp) int {
	size := 1
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpRepeat:
		size *= max(re.Min, re.Max, 1)
	case syntax.OpLiteral:
		size += len(re.Rune)
	case syntax.OpCharClass:
		size += len(re.Rune) / 8 // matched by binary search
	}
	return min(size, maxProgram+1)
}
