package question

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// shownOptions is how many values to choose from are listed. All of them count.
const shownOptions = 50

// String is the form on one line, for a notice: what it says, and its fields.
func (f *Form) String() string {
	var names []string
	for i := range f.Fields {
		name := plain(f.Fields[i].Name, maxName)
		if f.Fields[i].Required {
			name += " (required)"
		}
		names = append(names, name)
	}
	what := "yes or no"
	if len(names) > 0 {
		what = "a form with " + strings.Join(names, ", ")
	}
	return saying(f.Message, what)
}

func saying(message, what string) string {
	return fmt.Sprintf("%q (%s)", plain(message, maxText), what)
}

// heading is the line above a field: what its server calls it, and says of it.
func (f *Field) heading() string {
	parts := []string{plain(f.Title, maxName), plain(f.Description, maxText)}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		parts = []string{plain(f.Name, maxName)}
	}
	return strings.Join(parts, ": ")
}

// list are the values to choose from, one on a line.
func (f *Field) list() string {
	var b strings.Builder
	for i := range f.options {
		if i == shownOptions {
			fmt.Fprintf(&b, "  ... and %d more\n", len(f.options)-i)
			break
		}
		mark := "-"
		if f.numbered() {
			mark = fmt.Sprintf("%d)", i+1)
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, f.options[i].shown())
	}
	return b.String()
}

func (o *option) shown() string {
	label := plain(o.label, maxName)
	if o.title == "" || o.title == o.label {
		return label
	}
	return fmt.Sprintf("%s (%s)", plain(o.title, maxName), label)
}

// prompt says what may be typed, and what an empty line stands for.
func (f *Field) prompt(have json.RawMessage) string {
	what := f.wanted()
	if f.bounds != "" {
		what += ", " + plain(f.bounds, maxName)
	}
	switch {
	case have != nil:
		return fmt.Sprintf("%s (%s) [%s]: ", plain(f.Name, maxName), what, f.typed(have))
	case f.Required:
		what += ", required"
	default:
		what += ", Enter leaves it out"
	}
	return fmt.Sprintf("%s (%s): ", plain(f.Name, maxName), what)
}

func (f *Field) wanted() string {
	switch f.kind {
	case number:
		return f.typeName
	case yesNo:
		return "yes or no"
	case oneOf:
		return "one of these"
	case someOf:
		return "any of these, with commas"
	case anyJSON:
		return "JSON"
	}
	switch f.format {
	case "email":
		return "e-mail address"
	case "uri":
		return "URI"
	case "date":
		return "date like 2026-03-31"
	case "date-time":
		return "date and time like 2026-03-31T12:00:00Z"
	}
	return "text"
}

// typed is a value as a person would type it.
func (f *Field) typed(value json.RawMessage) string {
	v := gjson.ParseBytes(value)
	switch f.kind {
	case text, oneOf:
		return plain(v.String(), maxText)
	case yesNo:
		return map[bool]string{true: "yes", false: "no"}[v.Bool()]
	case someOf:
		var all []string
		for _, one := range v.Array() {
			all = append(all, plain(labelOf(one), maxName))
		}
		return strings.Join(all, ", ")
	}
	return plain(string(value), maxText)
}

// What a secret is called: as a whole word, where others have the same letters in them,
// and as part of any.
var (
	secretWords = []string{"pin", "otp", "totp", "cvv", "cvc", "pwd", "passkey"}
	secretParts = []string{"password", "passphrase", "passcode", "passwd", "secret", "token", "apikey", "accesskey", "privatekey", "credential"}
)

// secretive reports whether a field looks as if it were for a secret, which forms must
// not be for (2025-11-25, client/elicitation, Security Considerations).
func (f *Form) secretive() bool {
	return slices.ContainsFunc(f.Fields, func(field Field) bool {
		if field.kind != text && field.kind != number && field.kind != anyJSON {
			return false // only what is offered can be chosen
		}
		words := strings.FieldsFunc(strings.ToLower(field.Name+" "+field.Title+" "+field.Description), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		said := strings.Join(words, "")
		return field.format == "password" ||
			slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, word) }) ||
			slices.ContainsFunc(secretParts, func(part string) bool {
				return strings.Contains(said, part) && (part != "token" || field.kind != number) // else a limit like max_tokens
			})
	})
}
