package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
			return nil, failure.New(failure.ConsentRequired, failure.NotSent, "%s: a command line has no answer to that", visible(method))
		}
		server, own, _ := strings.Cut(tool, "/")
		who := question.Asking{Server: server, Tool: own}
		switch mode := gjson.GetBytes(params, "mode").String(); mode {
		case "", "form":
			f, err := readForm(ctx, params)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
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
			return nil, r.unanswered(tool, "something in the mode "+question.Mode(mode), "this version of collet does not know it")
		}
	}
}

// readForm reads a form until ctx is done.
func readForm(ctx context.Context, params json.RawMessage) (*question.Form, error) {
	type form struct {
		f   *question.Form
		err error
	}
	read := make(chan form, 1)
	go func() { // it ends at the next field after ctx has
		f, err := question.ReadForm(ctx, params)
		read <- form{f, err}
	}()
	select {
	case got := <-read:
		return got.f, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
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
func (r *respondent) toldOf(f *failure.Failure) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case f.Class == failure.ConsentRequired: // the failure says it itself
		return nil
	// Where the host does not know the tool: what an adapter or a server does not find
	// is something else.
	case f.Class == failure.NotFound && f.Origin == failure.OriginHost && r.answers == nil && r.nobody != "":
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
			w, err := readAnswer(text)
			if err != nil {
				a.err = usagef("--answer %v", err)
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

// readAnswer reads one. Its error has no word of a value in it, which may be a secret.
func readAnswer(text string) (argument.Word, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || name == ":" {
		return argument.Word{}, errors.New("has no name or no value: write NAME=VALUE, NAME:=JSON or NAME=@file")
	}
	if value == "@-" {
		return argument.Word{}, fmt.Errorf("%s: stdin is not for answers", name)
	}
	w, err := argument.ParseWord(text, strings.NewReader(""))
	if err == nil {
		return w, nil
	}
	if own, ok := strings.CutSuffix(name, ":"); ok {
		return argument.Word{}, fmt.Errorf("%s: what follows := is not JSON", own)
	}
	if !strings.HasPrefix(value, "@") {
		return argument.Word{}, fmt.Errorf("%s: it is not UTF-8, which JSON text has to be", name)
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok { // the path may be a secret that begins with @
		err = path.Err
	}
	return argument.Word{}, fmt.Errorf(`%s: the file named behind @ gives no answer: %w (for text that begins with @ write %s:='"@..."')`, name, err, name)
}
