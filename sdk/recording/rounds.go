package recording

import (
	"slices"
	"strings"

	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

// maxRounds bounds how many questions one call is followed back through. A host puts no
// more.
const maxRounds = 16

// goesOn reports whether a call answers the question in which an earlier one ended.
func (e *Entry) goesOn() bool { return len(e.InputResponses) > 0 || e.RequestState != "" }

// endsIn reports whether a call ended in the question that the call next answers.
func (e *Entry) endsIn(next *Entry) bool {
	return e.Input != nil && e.Input.State == next.RequestState && sameTool(e, next)
}

// sameTool compares two calls without what they answer.
func sameTool(a, b *Entry) bool {
	return a.Kind == CallTool && b.Kind == CallTool && a.Tool == b.Tool && sameValue(a.Arguments, b.Arguments)
}

// sameQuestion reports whether two calls of a tool answer the same question after the same
// answers to all earlier ones. States that differ say nothing: a server may make each up.
func (t *Tape) sameQuestion(a, b *Entry, rounds int) bool {
	if a.RequestState == b.RequestState {
		return true
	}
	if rounds == 0 || !a.goesOn() || !b.goesOn() {
		return false
	}
	x := slices.IndexFunc(t.entries, func(e *Entry) bool { return e.endsIn(a) })
	y := slices.IndexFunc(t.entries, func(e *Entry) bool { return e.endsIn(b) })
	if x < 0 || y < 0 {
		return false
	}
	a, b = t.entries[x], t.entries[y]
	return sameValue(a.Input.Requests, b.Input.Requests) && sameValue(a.InputResponses, b.InputResponses) && t.sameQuestion(a, b, rounds-1)
}

// Answered is the call that answered the question in which e ended, as it was recorded
// next; nil when there is none. In order, it counts as played.
func (t *Tape) Answered(e *Entry) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := -1
	for i := slices.Index(t.entries, e) + 1; i < len(t.entries); i++ {
		next := t.entries[i]
		if !next.goesOn() || !e.endsIn(next) || t.order && i != t.next {
			continue
		}
		if found < 0 {
			found = i
		}
		if !t.used[i] {
			found = i
			break
		}
	}
	if found < 0 {
		return nil
	}
	t.used[found] = true
	if t.order {
		t.next++
	}
	return t.entries[found]
}

// otherwise says of an answer that it leads nowhere, and which were recorded.
func otherwise(recorded []*Entry) error {
	const maxShown = 200
	if len(recorded) == 0 {
		return notFound("the question of the tool was not answered in the recording, which has no end for an answer")
	}
	var answers []string
	for _, e := range recorded[:min(len(recorded), maxListed)] {
		answers = append(answers, excerpt.Of(string(e.InputResponses), maxShown))
	}
	return notFound("the question of the tool was answered otherwise than in the recording, which has no end for that; the recorded answer is %s", strings.Join(answers, " or "))
}
