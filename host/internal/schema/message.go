package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// leaf returns the problems of one broken keyword. Limits are quoted from the
// schema as they are written there: the library has rounded them.
func (e explanation) leaf(invalid *jsonschema.ValidationError, at place) []failure.Problem {
	path := unescape(invalid.InstanceLocation)
	if at.schema == nil {
		return []failure.Problem{{Path: path, Rule: at.keyword, Message: clip(invalid.Message)}}
	}
	body, keyword := at.schema.body, at.keyword
	if keyword == "" { // a schema that is false, or that must not fit
		keyword = at.schema.keyword
		if at.schema.parent != nil {
			body = at.schema.parent.body
		}
	}
	got, known := lookup(e.value, path)
	if strings.Contains(invalid.KeywordLocation, "/propertyNames") {
		got, known = nil, false // what failed is the name at the end of path
	}
	one := func(format string, args ...any) []failure.Problem {
		return []failure.Problem{{Path: path, Rule: keyword, Message: fmt.Sprintf(format, args...)}}
	}
	number := func() string {
		if n, ok := got.(json.Number); ok {
			return ", is " + clip(string(n))
		}
		return ""
	}
	want := body[keyword]

	switch keyword {
	case "type":
		if !known {
			return one("must be %s", types(want))
		}
		return one("must be %s, is %s", types(want), article(typeOf(got)))
	case "required":
		return e.missing(path, got, want)
	case "additionalProperties":
		if want == false && at.schema.keyword == keyword {
			return e.strange(path, got, body)
		}
	case "enum":
		return one("must be one of %s%s", values(want), suggestion(got, want))
	case "const":
		return one("must be %s", text(want))
	case "minimum":
		if body["exclusiveMinimum"] == true { // draft-04
			return one("must be greater than %s%s", text(want), number())
		}
		return one("must be at least %s%s", text(want), number())
	case "maximum":
		if body["exclusiveMaximum"] == true {
			return one("must be less than %s%s", text(want), number())
		}
		return one("must be at most %s%s", text(want), number())
	case "exclusiveMinimum":
		if want == true {
			want = body["minimum"]
		}
		return one("must be greater than %s%s", text(want), number())
	case "exclusiveMaximum":
		if want == true {
			want = body["maximum"]
		}
		return one("must be less than %s%s", text(want), number())
	case "multipleOf":
		return one("must be a multiple of %s%s", text(want), number())
	case "pattern":
		return one("must match the pattern %s", clip(fmt.Sprint(want)))
	case "minLength", "maxLength":
		return one("must have at %s %s characters%s", bound(keyword), text(want), length(got))
	case "minItems", "maxItems":
		return one("must have at %s %s items%s", bound(keyword), text(want), length(got))
	case "minProperties", "maxProperties":
		return one("must have at %s %s properties%s", bound(keyword), text(want), length(got))
	case "minContains", "contains":
		least, ok := body["minContains"]
		if !ok {
			least = 1
		}
		return one("must hold at least %s fitting items", text(least))
	case "maxContains":
		return one("must hold at most %s fitting items", text(want))
	case "uniqueItems":
		return one("must not hold an item twice")
	case "not":
		return one("must not fit the schema under \"not\"")
	case "oneOf":
		return one("fits more than one of the alternatives of its schema; it has to fit exactly one")
	case "additionalItems":
		return one("has more items than are allowed")
	case "dependencies", "dependentRequired":
		return one("%s", clip(invalid.Message))
	}
	if at.schema.body == nil && at.keyword == "" {
		if keyword == "" {
			keyword = "false"
		}
		return one("is not allowed")
	}
	return one("%s", clip(cmp.Or(invalid.Message, "does not fit its schema")))
}

// missing returns a problem for each required property that is not there.
func (e explanation) missing(path string, got, want any) []failure.Problem {
	object, _ := got.(map[string]any)
	names, _ := want.([]any)
	var problems []failure.Problem
	for _, n := range names {
		property, _ := n.(string)
		if _, ok := object[property]; !ok {
			problems = append(problems, failure.Problem{Path: path, Rule: "required", Message: fmt.Sprintf("property %q is required", clip(property))})
		}
	}
	return problems
}

// strange returns a problem for each property that the schema does not know. Its
// path is the property's own.
func (e explanation) strange(path string, got any, body map[string]any) []failure.Problem {
	object, _ := got.(map[string]any)
	properties, _ := body["properties"].(map[string]any)
	patterns, _ := body["patternProperties"].(map[string]any)
	var fits []*regexp.Regexp
	for pattern := range patterns {
		if re, err := regexp.Compile(pattern); err == nil {
			fits = append(fits, re)
		}
	}
	known := slices.Collect(maps.Keys(properties))
	var problems []failure.Problem
	for _, property := range slices.Sorted(maps.Keys(object)) {
		if _, ok := properties[property]; ok || slices.ContainsFunc(fits, func(re *regexp.Regexp) bool { return re.MatchString(property) }) {
			continue
		}
		hint := ""
		if near := name.Near(property, known, 1); len(near) > 0 {
			hint = fmt.Sprintf("; did you mean %q?", near[0])
		}
		problems = append(problems, failure.Problem{
			Path: path + "/" + escape(property), Rule: "additionalProperties",
			Message: fmt.Sprintf("property %q is not known%s", clip(property), hint),
		})
		if len(problems) > maxProblems {
			break
		}
	}
	return problems
}

// suggestion returns the value that a string was probably meant to be.
func suggestion(got, want any) string {
	s, ok := got.(string)
	if !ok {
		return ""
	}
	var have []string
	for _, v := range asList(want) {
		if v, ok := v.(string); ok {
			have = append(have, v)
		}
	}
	if near := name.Near(s, have, 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// bound is the word for a keyword that begins with min or max.
func bound(keyword string) string {
	if strings.HasPrefix(keyword, "min") {
		return "least"
	}
	return "most"
}

func length(got any) string {
	switch got := got.(type) {
	case string:
		return ", has " + strconv.Itoa(utf8.RuneCountInString(got))
	case []any:
		return ", has " + strconv.Itoa(len(got))
	case map[string]any:
		return ", has " + strconv.Itoa(len(got))
	}
	return ""
}

func asList(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// types reads the value of "type": "a string or null".
func types(want any) string {
	var names []string
	for _, t := range asList(want) {
		names = append(names, article(fmt.Sprint(t)))
	}
	return strings.Join(names, " or ")
}

// values reads the value of "enum", as much as helps.
func values(want any) string {
	const most = 12
	var all []string
	for i, v := range asList(want) {
		if i == most {
			return strings.Join(all, ", ") + fmt.Sprintf(" and %d more", len(asList(want))-most)
		}
		all = append(all, text(v))
	}
	return strings.Join(all, ", ")
}

// text is a value of the schema as JSON, shortened.
func text(v any) string {
	raw, err := encode(v)
	if err != nil {
		return "?"
	}
	return clip(string(raw))
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func article(t string) string {
	switch t {
	case "null":
		return t
	case "integer", "array", "object":
		return "an " + t
	}
	return "a " + clip(t)
}
