package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

// Tape plays the calls of one server. Its methods are safe for concurrent use.
type Tape struct {
	server string
	order  bool

	mu      sync.Mutex
	entries []*Entry
	used    []bool
	next    int // in order: the next to be played
}

// Tape plays what a server answered. In order, calls have to come as they were
// recorded, and once each. Otherwise a call is answered with what was recorded for
// the same arguments, the first time with the first, and the last again and again.
func (r *Recording) Tape(server string, order bool) *Tape {
	t := &Tape{server: server, order: order}
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Server == server && (e.Kind == CallTool || e.Kind == Forward) {
			t.entries = append(t.entries, e)
		}
	}
	t.used = make([]bool, len(t.entries))
	return t
}

// Call is what a call was answered with. responses and state are its input_responses
// and request_state. The error is a *failure.Failure, not-found, that says what was
// recorded instead.
func (t *Tape) Call(tool string, arguments, responses []byte, state string) (*Entry, error) {
	return t.find(&Entry{Kind: CallTool, Tool: tool, Arguments: arguments, InputResponses: responses, RequestState: state})
}

// Forward is what a forwarded request was answered with, likewise.
func (t *Tape) Forward(method string, params []byte) (*Entry, error) {
	return t.find(&Entry{Kind: Forward, Method: method, Params: params})
}

func (t *Tape) find(want *Entry) (*Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.order {
		return t.inOrder(want)
	}
	last := t.fits(func(e *Entry) bool { return same(e, want) })
	if last < 0 && want.goesOn() {
		last = t.fits(func(e *Entry) bool {
			return sameTool(e, want) && sameValue(e.InputResponses, want.InputResponses) && t.sameQuestion(e, want, maxRounds)
		})
	}
	if last < 0 {
		return nil, t.missing(want)
	}
	t.used[last] = true
	return t.entries[last], nil
}

// fits is the index of the first entry that fits and was not played, or else of the last
// one that fits; -1 is none.
func (t *Tape) fits(is func(*Entry) bool) int {
	last := -1
	for i, e := range t.entries {
		if !is(e) {
			continue
		}
		last = i
		if !t.used[i] {
			break
		}
	}
	return last
}

// Otherwise is another entry of the same call as e: up to question n it was asked and
// answered the same, and that question with this answer. It is nil when there is none,
// and in order, where the next call is the only one that counts.
func (t *Tape) Otherwise(e *Entry, n int, result []byte, err error) *Entry {
	if t.order {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := slices.IndexFunc(t.entries, func(other *Entry) bool {
		if !same(other, e) || len(other.Asks) <= n || !other.Asks[n].Answers(result, err) {
			return false
		}
		for i := range n + 1 {
			a, b := &other.Asks[i], &e.Asks[i]
			if a.Method != b.Method || !sameValue(a.Params, b.Params) || i < n && !a.Answers(b.Result, b.failed()) {
				return false
			}
		}
		return true
	})
	if found < 0 {
		return nil
	}
	t.used[slices.Index(t.entries, e)], t.used[found] = false, true
	return t.entries[found]
}

func (t *Tape) inOrder(want *Entry) (*Entry, error) {
	if t.next == len(t.entries) {
		return nil, notFound("the recording is over: %s has no call after the %d that were recorded", t.server, len(t.entries))
	}
	e := t.entries[t.next]
	if !same(e, want) {
		if sameTool(e, want) && e.goesOn() && want.goesOn() && e.RequestState == want.RequestState {
			return nil, otherwise([]*Entry{e})
		}
		return nil, notFound("call %d of %s was recorded as %s, and comes as %s", t.next+1, t.server, e.name(), want.name())
	}
	t.next++
	return e, nil
}

// maxListed bounds how many recorded calls a failure names.
const maxListed = 5

// missing says what there is instead.
func (t *Tape) missing(want *Entry) error {
	if want.goesOn() && slices.ContainsFunc(t.entries, func(e *Entry) bool { return e.endsIn(want) }) {
		return otherwise(slices.DeleteFunc(slices.Clone(t.entries), func(e *Entry) bool {
			return !sameTool(e, want) || !e.goesOn() || !t.sameQuestion(e, want, maxRounds)
		}))
	}
	var near []string
	for _, e := range t.entries {
		if e.Kind == want.Kind && e.Tool == want.Tool && e.Method == want.Method && len(near) < maxListed {
			near = append(near, e.name())
		}
	}
	if len(near) == 0 {
		return notFound("no call of %s was recorded for %s", want.Tool+want.Method, t.server)
	}
	return notFound("%s was not recorded for %s; recorded are: %s", want.name(), t.server, strings.Join(near, "; "))
}

func notFound(format string, args ...any) error {
	f := failure.New(failure.NotFound, failure.NotSent, format, args...)
	f.Origin = failure.OriginAdapter
	return f
}

// name is a call for a sentence.
func (e *Entry) name() string {
	const maxShown = 200
	return e.Tool + e.Method + " " + excerpt.Of(string(e.Arguments)+string(e.Params), maxShown)
}

// same compares two calls: arguments by value, numbers as they are spelled.
func same(a, b *Entry) bool {
	return a.Kind == b.Kind && a.Tool == b.Tool && a.Method == b.Method && a.RequestState == b.RequestState &&
		sameValue(a.Arguments, b.Arguments) && sameValue(a.Params, b.Params) && sameValue(a.InputResponses, b.InputResponses)
}

// failed is the failure that a question was answered with, nil for none.
func (a *Ask) failed() error {
	if a.Failure == nil {
		return nil
	}
	return a.Failure.Failure()
}

// Answers reports whether an answer to the question is the one that was recorded, by
// value, or a failure of the same class. Nothing is where the call ended before.
func (a *Ask) Answers(result []byte, err error) bool {
	if len(a.Result) == 0 && a.Failure == nil {
		return false
	}
	if err != nil || a.Failure != nil {
		return err != nil && a.Failure != nil && failure.Classify(err).Class == a.Failure.Failure().Class
	}
	return sameValue(a.Result, result)
}

func sameValue(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := value(a)
	y, errY := value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// value reads JSON; nothing at all is an empty object, as a call without arguments is.
func value(b []byte) (v any, err error) {
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err = dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	return v, nil
}
