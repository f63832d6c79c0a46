package enrich

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// work asks what the own organisation knows: one question, so that a person agrees
// once, to all of it.
func (e *Enrichment) work(ctx context.Context, a *asker) ([]Skipped, error) {
	args := map[string]string{"question": a.about.Question()}
	got, err := a.call(ctx, "ask", args)
	if withdrawn(err) { // its name up to 0.4
		if old, oldErr := a.call(ctx, "ask_work_iq", args); oldErr == nil || !withdrawn(oldErr) {
			got, err = old, oldErr
		}
	}
	if err != nil {
		return nil, err
	}
	text := got.text
	if answer := got.structured.Get("answer"); answer.Type == gjson.String {
		text = answer.Str
	}
	if e.WorkIQ = insights(text); e.WorkIQ == nil {
		return nil, failure.New(failure.InvalidResult, failure.Answered, // What it said is the organisation's, and does not belong on stderr.
			"%s answered, but not with the lists that it was asked for; ask again, or ask it yourself with 'collet tools call'", a.server)
	}
	return nil, nil
}

// Question is what workiq is asked about a subject, word for word.
func (s Subject) Question() string {
	industry, team := "", ""
	if s.Industry != "" {
		industry = fmt.Sprintf(" (industry: %s)", s.Industry)
	}
	if s.Team != "" {
		team = fmt.Sprintf(" Look at the team %s above all.", s.Team)
	}
	return fmt.Sprintf("We are about to work with the company %s%s. What does our organisation know that helps?%s "+
		`Answer with one JSON object and nothing else: {"teamExpertise": [], "collaborationPatterns": [], "documentationGaps": []}. `+
		"Each is a list of at most %d short strings: who of us has experience that matters here; who works with whom on it, and how; "+
		"what is missing or out of date in our documents about it. Leave a list empty where you know nothing.", s.Company, industry, team, maxItems)
}

// insights reads an answer: the JSON that was asked for, alone or within other text,
// or else lists below headings that name the three. Nil when there is neither.
func insights(text string) *Insights {
	rest := text
	for range maxBraces {
		start := strings.IndexByte(rest, '{')
		if start < 0 {
			break
		}
		rest = rest[start:]
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(rest)).Decode(&object) != nil {
			rest = rest[1:]
			continue
		}
		if in := fromJSON(gjson.ParseBytes(object)); in != nil {
			return in
		}
		rest = rest[len(object):]
	}
	return fromHeadings(text)
}

// maxBraces bounds how many places of an answer are tried for an object.
const maxBraces = 50

// list is one of the lists.
type list struct {
	member, word string // its name in JSON, and what a heading of it has
	to           *[]string
}

func (in *Insights) lists() []list {
	return []list{
		{"teamExpertise", "expertise", &in.TeamExpertise},
		{"collaborationPatterns", "collaboration", &in.CollaborationPatterns},
		{"documentationGaps", "documentation", &in.DocumentationGaps},
	}
}

func fromJSON(object gjson.Result) *Insights {
	in, found := &Insights{}, false
	for _, l := range in.lists() {
		member := object.Get(l.member)
		found = found || member.IsArray()
		for _, one := range member.Array() {
			add(l.to, words(one))
		}
	}
	if !found {
		return nil
	}
	return in
}

// words is a string, or those of an object or a list, as one line.
func words(v gjson.Result) string {
	if !v.IsObject() && !v.IsArray() {
		return v.String()
	}
	var all []string
	v.ForEach(func(_, one gjson.Result) bool {
		all = append(all, one.String())
		return true
	})
	return strings.Join(all, ", ")
}

func fromHeadings(text string) *Insights {
	in, found := &Insights{}, false
	var to *[]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if item, ok := bullet(line); ok {
			if to != nil {
				add(to, strings.ReplaceAll(item, "**", ""))
			}
			continue
		}
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "**") && !strings.HasSuffix(line, ":") {
			continue
		}
		to = nil
		for _, l := range in.lists() {
			if strings.Contains(strings.ToLower(line), l.word) {
				to, found = l.to, true
				break
			}
		}
	}
	if !found {
		return nil
	}
	return in
}

// bullet is what a line of a Markdown list says.
func bullet(line string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if item, ok := strings.CutPrefix(line, mark); ok {
			return item, true
		}
	}
	number, item, ok := strings.Cut(line, ". ")
	return item, ok && number != "" && len(number) <= 2 && strings.Trim(number, "0123456789") == ""
}

func add(to *[]string, item string) {
	if item = cut(plain(item), maxItem); item != "" && len(*to) < maxItems {
		*to = append(*to, item)
	}
}
