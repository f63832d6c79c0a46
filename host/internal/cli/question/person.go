package question

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// Person is whom questions are put to.
type Person struct {
	Out io.Writer // what they read
	// Line shows a prompt and returns the line that they type, without the space around
	// it. Its error is that there is none: the terminal or the call has ended.
	Line func(ctx context.Context, prompt string) (string, error)
	// Open opens an address in their browser.
	Open func(url string) error

	visited map[string]bool // addresses that they were sent to
}

// Asking is who asks: a server, in the middle of a call of one of its tools.
type Asking struct{ Server, Tool string }

func (a Asking) String() string {
	return fmt.Sprintf("The server %s asks, before %s goes on", plain(a.Server, maxName), plain(a.Tool, maxName))
}

// What may come of a question (2025-11-25, client/elicitation, Response Actions).
var (
	Declined = json.RawMessage(`{"action":"decline"}`)
	canceled = json.RawMessage(`{"action":"cancel"}`)
	accepted = json.RawMessage(`{"action":"accept"}`)
)

// Accepted is the answer that a form is sent with.
func Accepted(content json.RawMessage) json.RawMessage {
	var o rawjson.Object
	o.String("action", "accept")
	o.Raw("content", content)
	return o.Bytes()
}

const ways = "[n]o (decline), [c]ancel the question; Ctrl-C cancels the call: "

// choice is what a person chose of several things.
type choice int

const (
	yes choice = iota
	no
	cancel
	again
)

var choices = map[string]choice{
	"y": yes, "yes": yes, "n": no, "no": no, "d": no, "decline": no, "c": cancel, "cancel": cancel,
	"e": again, "edit": again, "o": again, "open": again,
}

// choose asks until one of the things is chosen. An empty line is none of them: Enter
// may have been pressed before the question was there to be seen.
func (p *Person) choose(ctx context.Context, prompt string, repeats bool) (choice, error) {
	for {
		line, err := p.Line(ctx, prompt)
		if err != nil {
			return cancel, err
		}
		if c, ok := choices[strings.ToLower(line)]; ok && (c != again || repeats) {
			return c, nil
		}
	}
}

// Form has a person fill in a form, and returns their answer as MCP has it. Nothing
// that they enter is sent before they have seen all of it once more.
func (p *Person) Form(ctx context.Context, who Asking, f *Form) (json.RawMessage, error) {
	fmt.Fprintf(p.Out, "%s:\n%s", who, lines(f.Message))
	if len(f.Fields) == 0 {
		c, err := p.choose(ctx, "Do you accept? [y]es, "+ways, false)
		return answerOf(c, json.RawMessage(`{}`)), err
	}
	if f.secretive() {
		fmt.Fprintf(p.Out, "Servers must not ask for passwords, keys or tokens in this way. If this one does, decline.\n")
	}
	fields := "It is a form of one field."
	if n := len(f.Fields); n > 1 {
		fields = fmt.Sprintf("It is a form of %d fields.", n)
	}
	c, err := p.choose(ctx, fields+" Fill it in? [y]es, "+ways, false)
	if err != nil || c != yes {
		return answerOf(c, nil), err
	}
	given := make(map[string]json.RawMessage, len(f.Fields))
	for i := range f.Fields {
		given[f.Fields[i].Name] = f.Fields[i].initial
	}
	for {
		for i := range f.Fields {
			if err := p.field(ctx, f, i, given); err != nil {
				return nil, err
			}
		}
		content := f.content(given)
		fmt.Fprintf(p.Out, "\nThis is what %s gets:\n%s", plain(who.Server, maxName), f.review(given))
		c, err := p.choose(ctx, "Send it? [y]es, [e]dit, "+ways, true)
		if err != nil || c != again {
			return answerOf(c, content), err
		}
	}
}

func answerOf(c choice, content json.RawMessage) json.RawMessage {
	switch c {
	case yes:
		return Accepted(content)
	case no:
		return Declined
	}
	return canceled
}

// field asks for one field until it has a value, or none where none is needed.
func (p *Person) field(ctx context.Context, f *Form, i int, given map[string]json.RawMessage) error {
	field := &f.Fields[i]
	fmt.Fprintf(p.Out, "\n(%d/%d) %s\n%s", i+1, len(f.Fields), field.heading(), field.list())
	for {
		have := given[field.Name]
		line, err := p.Line(ctx, field.prompt(have))
		if err != nil {
			return err
		}
		if line == "" {
			if have != nil || !field.Required {
				return nil
			}
			fmt.Fprintf(p.Out, "  it is required%s\n", map[bool]string{true: `; "" is an empty text`}[field.kind == text])
			continue
		}
		value, wrong := field.read(line)
		if wrong == "" && utf8.RuneCount(value) > maxValue {
			wrong = fmt.Sprintf("it has more than %d characters, which are too many to be shown to you once more", maxValue)
		}
		if wrong == "" {
			given[field.Name] = value
			return nil
		}
		fmt.Fprintf(p.Out, "  %s\n", plain(wrong, maxText))
	}
}

// content is the answer's content: what was given, as it was written.
func (f *Form) content(given map[string]json.RawMessage) json.RawMessage {
	var o rawjson.Object
	for i := range f.Fields {
		if value := given[f.Fields[i].Name]; value != nil {
			o.Raw(f.Fields[i].Name, value)
		}
	}
	return o.Bytes()
}

// review is what was given, for the person to look over.
func (f *Form) review(given map[string]json.RawMessage) string {
	var b strings.Builder
	for i := range f.Fields {
		value := "(left out)"
		if v := given[f.Fields[i].Name]; v != nil {
			value = plain(string(v), maxValue) // whole
		}
		fmt.Fprintf(&b, "  %s: %s\n", plain(f.Fields[i].Name, maxName), value)
	}
	return b.String()
}
