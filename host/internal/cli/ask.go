package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/argument"
	"github.com/collet-dev/collet/host/internal/cli/question"
	"github.com/collet-dev/collet/sdk/failure"
)

// What a call declares of its caller to a server of 2026-07-28.
const (
	answersAll   = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}}`
	answersForms = `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
)

// respondent answers what servers ask in the middle of a command's calls: by what the
// command line says in advance, or else by asking the person at the terminal.
type respondent struct {
	keys    *keyboard
	person  question.Person
	answers *question.Answers // nil: a person answers
	nobody  string            // why none can be asked; "" when one can

	mu      sync.Mutex
	notices []string
}

// newRespondent is that of a command that was given those answers. dataIn is what
// stdin is used for besides, "" when for nothing.
func newRespondent(k *keyboard, answers []argument.Word, dataIn string, open func(url string) error) *respondent {
	r := &respondent{keys: k, person: question.Person{Out: k.streams.Err, Line: k.line, Open: open}}
	switch {
	case len(answers) > 0:
		r.answers = question.NewAnswers(answers)
	case !k.there():
		r.nobody = "there is no terminal to ask on"
	case dataIn != "":
		r.nobody = "stdin has " + dataIn + ", so that nobody can be asked"
	}
	return r
}

// meta is what to declare with a call.
func (r *respondent) meta() json.RawMessage {
	switch {
	case r.answers != nil:
		return json.RawMessage(answersForms)
	case r.nobody == "":
		return json.RawMessage(answersAll)
	}
	return nil
}

// of answers the questions of calls of one tool.
func (r *respondent) of(tool string) host.Asker {
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if method != "elicitation/create" {
			return nil, failure.New(failure.ConsentRequired, failure.NotSent, "%s: a command line has no answer to that", method)
		}
		server, own, _ := strings.Cut(tool, "/")
		who := question.Asking{Server: server, Tool: own}
		switch mode := gjson.GetBytes(params, "mode").String(); mode {
		case "", "form":
			f, err := question.ReadForm(params)
			if err != nil {
				return nil, r.unanswered(tool, "something", err.Error())
			}
			return r.form(ctx, tool, who, f)
		case "url":
			a, err := question.ReadAddress(params)
			if err != nil {
				return nil, r.unanswered(tool, "something", err.Error())
			}
			return r.visit(ctx, tool, who, a)
		default:
			return nil, r.unanswered(tool, fmt.Sprintf("something in the mode %q", mode), "this version of collet does not know it")
		}
	}
}

func (r *respondent) form(ctx context.Context, tool string, who question.Asking, f *question.Form) (json.RawMessage, error) {
	if r.nobody == "" && r.answers == nil {
		return r.take(ctx, func() (json.RawMessage, error) { return r.person.Form(ctx, who, f) })
	}
	if r.answers == nil {
		why := r.nobody
		if len(f.Fields) > 0 {
			why += "; --answer NAME=VALUE fills in a field"
		}
		return nil, r.unanswered(tool, f.String(), why)
	}
	r.mu.Lock()
	content, named, unfit := r.answers.Fill(f)
	r.mu.Unlock()
	switch {
	case !named:
		return nil, r.unanswered(tool, f.String(), "no --answer names a field of it")
	case unfit != "":
		r.note("%s asked %s, and was declined: %s", tool, f, unfit)
		return question.Declined, nil
	}
	return question.Accepted(content), nil
}

func (r *respondent) visit(ctx context.Context, tool string, who question.Asking, a *question.Address) (json.RawMessage, error) {
	switch {
	case r.answers != nil:
		return nil, r.unanswered(tool, a.String(), "--answer opens none, and with it nobody is asked")
	case r.nobody != "":
		return nil, r.unanswered(tool, a.String(), r.nobody)
	}
	return r.take(ctx, func() (json.RawMessage, error) { return r.person.Visit(ctx, who, a) })
}

// take has a question wait for its turn at the keyboard.
func (r *respondent) take(ctx context.Context, ask func() (json.RawMessage, error)) (json.RawMessage, error) {
	done, err := r.keys.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return ask()
}

// unanswered is of a question that nobody was asked.
func (r *respondent) unanswered(tool, what, why string) error {
	r.note("%s asked %s, and got no answer: %s", tool, what, why)
	return failure.New(failure.ConsentRequired, failure.NotSent, "it asked %s, and got no answer: %s", what, why)
}

func (r *respondent) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.notices, n) {
		r.notices = append(r.notices, n)
	}
}

// toldOf are the notices about the questions of a call that failed.
func (r *respondent) toldOf(class failure.Class) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case class == failure.ConsentRequired: // the failure says it itself
		return nil
	case class == failure.NotFound && r.answers == nil && r.nobody != "":
		return append(r.notices, "some servers offer tools only to those whom they can ask: in a terminal, or with --answer")
	}
	return r.notices
}

// told are the notices about questions, once the calls have ended.
func (r *respondent) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	notices := r.notices
	if r.answers != nil {
		for _, name := range r.answers.Unused() {
			notices = append(notices, fmt.Sprintf("--answer %s: no form had such a field", name))
		}
	}
	return notices
}

// readAnswers reads the values of --answer until ctx is done: to open and read a file
// can take for ever.
func readAnswers(ctx context.Context, texts []string) ([]argument.Word, error) {
	type answers struct {
		words []argument.Word
		err   error
	}
	read := make(chan answers, 1)
	go func() { // a read cannot be called off: after Ctrl-C it ends with the process
		var a answers
		for _, text := range texts {
			if strings.HasSuffix(text, "=@-") {
				a.err = usagef("--answer %s: stdin is not for answers", text)
				break
			}
			w, err := argument.ParseWord(text, strings.NewReader(""))
			if err != nil {
				a.err = usagef("--answer: %v", err)
				break
			}
			a.words = append(a.words, w)
		}
		read <- a
	}()
	select {
	case a := <-read:
		return a.words, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
