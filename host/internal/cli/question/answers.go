package question

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/cli/argument"
)

// Answers are what a command line says in advance, by the names of fields.
type Answers struct {
	words []argument.Word
	asked map[string]bool // names that were in a form
}

// NewAnswers are those of words, in their order.
func NewAnswers(words []argument.Word) *Answers {
	return &Answers{words: words, asked: make(map[string]bool)}
}

// Fill fills in a form: fields by their names, and the others as the server fills them
// in (default). unfit says why that makes no answer; no field is named when the form
// was not meant at all.
func (a *Answers) Fill(f *Form) (content json.RawMessage, named bool, unfit string) {
	given := make(map[string]json.RawMessage, len(f.Fields))
	for i := range f.Fields {
		given[f.Fields[i].Name] = f.Fields[i].initial
	}
	var words []argument.Word
	for _, w := range a.words {
		if f.field(w.Key) != nil {
			a.asked[w.Key] = true
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil, false, ""
	}
	object, problems := argument.Object(f.schema, words)
	if len(problems) > 0 {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(problems[0].Path, "/"))
		return nil, true, f.field(name).unfit("")
	}
	gjson.ParseBytes(object).ForEach(func(name, value gjson.Result) bool {
		given[name.String()] = json.RawMessage(value.Raw)
		return true
	})
	for i := range f.Fields {
		field := &f.Fields[i]
		value := given[field.Name]
		if value == nil && field.Required {
			return nil, true, field.Name + " is required, and no --answer names it"
		}
		if value == nil {
			continue
		}
		if field.check(value) != "" {
			rule := ""
			if problems := field.rules.Validate(value); len(problems) > 0 {
				rule = problems[0].Rule
			}
			return nil, true, field.unfit(rule)
		}
	}
	return f.content(given), true, ""
}

// unfit says that what was given in advance does not fit, without a word of it: where
// that is written, secrets are not. rule is the schema's that it breaks, if that is it.
func (f *Field) unfit(rule string) string {
	takes := []string{f.wanted()}
	if len(f.options) > 0 {
		takes[0] = "what it has to choose from"
	}
	if f.bounds != "" {
		takes = append(takes, f.bounds)
	}
	if rule != "" {
		takes = append(takes, "by its rule "+rule)
	}
	return fmt.Sprintf("%s: the value of its --answer does not fit; it takes %s", f.Name, strings.Join(takes, ", "))
}

// Unused are the names that no form asked for, in order.
func (a *Answers) Unused() []string {
	var names []string
	for _, w := range a.words {
		if !a.asked[w.Key] {
			a.asked[w.Key] = true
			names = append(names, w.Key)
		}
	}
	return names
}
