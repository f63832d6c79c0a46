package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/sdk/failure"
)

// screen is what a person sees; seen is told of each text.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen func(all string)
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	s.seen(s.text.String())
	return len(b), nil
}

func atKeyboard(in io.Reader, seen func(string)) *respondent {
	s := &terminal.Streams{In: in, Err: &screen{seen: seen}, InTerminal: true, ErrTerminal: true}
	return newRespondent(newKeyboard(s), nil, "", func(string) error { return errors.New("no browser here") })
}

// Ctrl-C in the middle of a form ends it, and those that wait for their turn.
func TestFormIsCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() }) // the read that was given up ends
	const form = `{"requestedSchema":{"properties":{"a":{"type":"string"}}}}`
	r := atKeyboard(in, func(all string) {
		switch {
		case strings.HasSuffix(all, "cancels the call: "):
			go func() { _, _ = typed.Write([]byte("y\n")) }()
		case strings.HasSuffix(all, "a (text, Enter leaves it out): "):
			cancel()
		}
	})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got, err := r.of("s/t")(ctx, "elicitation/create", json.RawMessage(form)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	both.Wait()
	// What is typed later is no answer to anything.
	if got, err := r.of("s/t")(t.Context(), "elicitation/create", json.RawMessage(form)); err == nil {
		t.Errorf("asked again: %s", got)
	}
}

// Ctrl-C while a form is being read ends that, and is no form that cannot be shown.
func TestReadingAFormIsCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := atKeyboard(strings.NewReader("y\n"), func(string) { t.Error("shown") })
	for _, form := range []string{`{"requestedSchema":[]}`, `{"requestedSchema":{"properties":{"a":{}}}}`} {
		if _, err := r.of("s/t")(ctx, "elicitation/create", json.RawMessage(form)); !errors.Is(err, context.Canceled) || len(r.notices) > 0 {
			t.Errorf("%v, %q", err, r.notices)
		}
	}
}

// What a command line cannot answer is nobody's answer, and says what it was about.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct{ method, params, says string }{
		"sampling":     {"sampling/createMessage", `{}`, "sampling/createMessage: a command line has no answer to that"},
		"another mode": {"elicitation/create", `{"mode":"voice"}`, `something in the mode "voice"`},
		"a long mode":  {"elicitation/create", `{"mode":"` + strings.Repeat("M", 3000) + `"}`, `MMM... (2872 more characters)"`},
		"long to read": {"elicitation/create", `{"requestedSchema":{"properties":{` + strings.Repeat(`"a":{"type":"string","pattern":"(a{1,900})"},`, 20_000) + `"a":{}}}}`, "its form has more than"},
		"a large form": {"elicitation/create", `{"requestedSchema":[]}`, "requestedSchema is no object"},
		"a file":       {"elicitation/create", `{"mode":"url","url":"file:///x"}`, "not http or https"},
	} {
		r := atKeyboard(strings.NewReader("y\ny\n"), func(string) { t.Errorf("%s: shown", name) })
		_, err := r.of("s/t")(t.Context(), c.method, json.RawMessage(c.params))
		var f *failure.Failure
		if !errors.As(err, &f) || f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who can answer forms alone does not say that they open pages, and nobody says nothing.
func TestWhatIsDeclared(t *testing.T) {
	person := atKeyboard(strings.NewReader(""), nil)
	piped := newRespondent(newKeyboard(&terminal.Streams{}), nil, "", nil)
	busy := newRespondent(person.keys, nil, "the arguments", nil)
	words, err := readAnswers(t.Context(), []string{"a=1"})
	if err != nil {
		t.Fatal(err)
	}
	answers := newRespondent(person.keys, words, "", nil)
	for want, r := range map[string]*respondent{answersAll: person, answersForms: answers} {
		if got := string(r.meta()); got != want {
			t.Errorf("declares %s, want %s", got, want)
		}
	}
	if piped.meta() != nil || busy.meta() != nil {
		t.Errorf("declares %s and %s", piped.meta(), busy.meta())
	}
}

// What a person or a pipeline gave in advance may be secret, and is in no error.
func TestAnswersAreNotRepeated(t *testing.T) {
	for text, says := range map[string]string{
		"hunter2":            "has no name or no value",
		"=hunter2":           "has no name or no value",
		"a:=hunter2":         "a: what follows := is not JSON",
		"a=@hunter2":         "a: the file named behind @ gives no answer",
		"a=hunter2\xff":      "a: it is not UTF-8",
		"a=@hunter2\x00/=@-": "a: the file named behind @ gives no answer",
		"a=@-":               "a: stdin is not for answers",
	} {
		_, err := readAnswers(t.Context(), []string{text})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The note on tools that are offered to some is for a tool that the host does not know.
func TestWhoIsToldOfToolsForOthers(t *testing.T) {
	r := newRespondent(newKeyboard(&terminal.Streams{}), nil, "", nil)
	for origin, want := range map[failure.Origin]int{failure.OriginHost: 1, failure.OriginAdapter: 0, failure.OriginUpstream: 0} {
		f := failure.New(failure.NotFound, failure.NotSent, "x")
		f.Origin = origin
		if got := r.toldOf(f); len(got) != want {
			t.Errorf("%v: %q", origin, got)
		}
	}
}
