package schema

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxProblems is how many problems a person or a model gets at once.
const maxProblems = 16

// explanation turns the library's tree of errors into problems.
type explanation struct {
	schema *Schema
	value  any
}

func (s *Schema) explain(invalid *jsonschema.ValidationError, value any) []failure.Problem {
	problems := explanation{s, value}.of(invalid)
	slices.SortStableFunc(problems, func(a, b failure.Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	problems = slices.Compact(problems)
	return problems[:min(len(problems), maxProblems)]
}

// of returns the problems below one error, not many more than maxProblems. The
// library goes through maps, so errors come in any order; they are sorted before
// any is left out.
func (e explanation) of(invalid *jsonschema.ValidationError) []failure.Problem {
	place := e.schema.locate(invalid.AbsoluteKeywordLocation)
	if len(invalid.Causes) == 0 || place.keyword == "minContains" {
		return e.leaf(invalid, place)
	}
	if place.keyword == "anyOf" || place.keyword == "oneOf" {
		return e.alternatives(invalid, place.keyword)
	}
	causes := slices.Clone(invalid.Causes)
	slices.SortStableFunc(causes, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(strings.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.AbsoluteKeywordLocation, b.AbsoluteKeywordLocation))
	})
	var problems []failure.Problem
	for _, cause := range causes {
		if problems = append(problems, e.of(cause)...); len(problems) > maxProblems {
			break
		}
	}
	return problems
}

// alternatives chooses what to say when a value fits none of several schemas: what
// is missing from the one that was most likely meant, or else all of it in one
// sentence.
func (e explanation) alternatives(invalid *jsonschema.ValidationError, keyword string) []failure.Problem {
	here := unescape(invalid.InstanceLocation)
	best := unlike + 1
	var branches [][]failure.Problem // those of the best likeness
	for _, cause := range invalid.Causes {
		problems := e.of(cause)
		if len(problems) == 0 {
			continue
		}
		l := likenessOf(problems, here)
		if l < best {
			best, branches = l, nil
		}
		if l == best {
			branches = append(branches, problems)
		}
	}
	if len(branches) == 0 {
		return []failure.Problem{{Path: here, Rule: keyword, Message: "fits none of the alternatives of its schema"}}
	}
	if best == alike {
		slices.SortStableFunc(branches, func(a, b []failure.Problem) int { return len(a) - len(b) })
		if len(branches) == 1 || len(branches[0]) < len(branches[1]) {
			return branches[0]
		}
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return merge(branches, here, keyword)
}

// likeness says how much an alternative has in common with the value.
type likeness int

const (
	alike     likeness = iota // it is of that type, and nothing says that another was meant
	otherKind                 // of that type, but a constant says that another was meant
	unlike                    // not even of that type
)

func likenessOf(problems []failure.Problem, here string) likeness {
	l := alike
	for _, p := range problems {
		switch {
		case p.Rule == "type" && p.Path == here:
			return unlike
		case p.Rule == "const" || p.Rule == "enum":
			if parent, _, ok := cutLast(p.Path); p.Path == here || ok && parent == here {
				l = otherKind
			}
		}
	}
	return l
}

// cutLast cuts a JSON Pointer before its last token.
func cutLast(pointer string) (parent, token string, ok bool) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", "", false
	}
	return pointer[:i], pointer[i+1:], true
}

// merge makes one problem of the first of each alternative.
func merge(branches [][]failure.Problem, here, keyword string) []failure.Problem {
	const most = 4
	path, rule := branches[0][0].Path, branches[0][0].Rule
	samePath, sameRule := true, true
	for _, b := range branches {
		samePath = samePath && b[0].Path == path
		sameRule = sameRule && b[0].Rule == rule
	}
	var says []string
	for _, b := range branches {
		say := b[0].Message
		if !samePath && b[0].Path != here {
			say = strings.TrimPrefix(b[0].Path, here) + " " + say
		}
		if !slices.Contains(says, say) {
			says = append(says, say)
		}
	}
	if samePath && rule == "type" && sameRule { // "must be a string or null, is a number"
		for i := range says[:len(says)-1] {
			says[i], _, _ = strings.Cut(says[i], ", is ")
		}
		for i := range says[1:] {
			says[i+1] = strings.TrimPrefix(says[i+1], "must be ")
		}
		return []failure.Problem{{Path: path, Rule: rule, Message: strings.Join(says, " or ")}}
	}
	more := ""
	if len(says) > most {
		says, more = says[:most], ", or something else"
	}
	if !samePath {
		path = here
	}
	if !samePath || !sameRule {
		rule = keyword
	}
	return []failure.Problem{{Path: path, Rule: rule, Message: strings.Join(says, ", or ") + more}}
}

// place is where in the schema an error comes from.
type place struct {
	schema  *node  // the schema that failed, or that has the keyword; nil for one of a metaschema
	keyword string // "" when it is the schema as a whole
}

// locate reads the library's URI of a keyword: that of a schema, then "/" and the
// keyword, then for some keywords more. Names of properties may look like keywords,
// so what is a schema is looked up.
func (s *Schema) locate(location string) place {
	uri, fragment, _ := strings.Cut(location, "#")
	pointer := unescape(fragment)
	if uri != s.root {
		_, last, _ := cutLast(pointer)
		return place{keyword: last}
	}
	for rest := ""; ; {
		if n := s.doc.nodes[pointer]; n != nil {
			keyword, _, _ := strings.Cut(rest, "/")
			return place{n, keyword}
		}
		parent, token, ok := cutLast(pointer)
		if !ok {
			return place{keyword: rest}
		}
		pointer, rest = parent, token+"/"+rest
	}
}

// unescape undoes the percent-encoding that the library gives JSON Pointers.
func unescape(pointer string) string {
	plain, err := url.PathUnescape(pointer)
	if err != nil {
		return pointer
	}
	return plain
}
