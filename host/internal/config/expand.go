package config

import (
	"errors"
	"slices"
	"strings"
)

// maxNesting bounds defaults within defaults: ${A:-${B:-${C}}}.
const maxNesting = 16

var (
	errUnfinished       = errors.New(`holds a ${ that is not a variable: write ${NAME} or ${NAME:-default}, and $$ for a dollar sign`)
	errUnfinishedSecret = errors.New("holds a secret's place that is none: write ${file:PATH} or ${keyring:SERVICE/ACCOUNT}, without variables in it")
	errNesting          = errors.New("holds too many defaults within defaults; at most 16")
	errNoHome           = errors.New("begins with ~ and the home directory is not known; write the whole path")
)

// expander expands the text of one value:
//
//	${NAME}           the variable; unset is an error, empty is a value
//	${NAME:-default}  the default when NAME is unset or empty, as in a shell; the
//	                  default ends at the first } that closes no ${ within it, and
//	                  is expanded itself
//	${file:PATH}      what the file holds, and ${keyring:SERVICE/ACCOUNT} what the
//	                  keyring does, in fields that may hold secrets
//	$NAME             as ${NAME}, with the longest name that fits: $Xy is Xy
//	$$                one $
//	~ or ~/ in front  the home directory
//
// NAME is [A-Za-z_][A-Za-z0-9_]*. Any other $ stays ($1, "a$", "$-"). What a
// variable holds is never looked at again.
type expander struct {
	lookup func(string) (string, bool)
	home   string
	// fetch gets a secret from elsewhere, "file" or "keyring". Without it there are
	// none, and nothing is looked at.
	fetch func(kind, where string) (string, error)

	unset []string // variables that are not set, in order, once each
}

// expand returns the expansion of text. Unset variables count as empty and are
// noted; the error is a fault of the text itself.
func (e *expander) expand(text string) (string, error) {
	var b strings.Builder
	_, err := e.run(&b, text, 0)
	return b.String(), err
}

// run expands text into b: all of it at depth 0, else up to the } that ends a
// default, and returns what follows. A nil b only passes over a default that is
// not used, so that its variables need not be set.
func (e *expander) run(b *strings.Builder, text string, depth int) (string, error) {
	if depth > maxNesting {
		return "", errNesting
	}
	text, err := e.tilde(b, text, depth)
	if err != nil {
		return "", err
	}
	for text != "" {
		stop := "$"
		if depth > 0 {
			stop = "$}"
		}
		i := strings.IndexAny(text, stop)
		if i < 0 {
			break
		}
		write(b, text[:i])
		if text[i] == '}' {
			return text[i+1:], nil
		}
		text = text[i+1:]
		switch {
		case strings.HasPrefix(text, "$"):
			write(b, "$")
			text = text[1:]
		case strings.HasPrefix(text, "{"):
			if text, err = e.braced(b, text[1:], depth); err != nil {
				return "", err
			}
		default:
			n := nameLength(text)
			if n == 0 {
				write(b, "$")
			} else if b != nil {
				b.WriteString(e.variable(text[:n]))
			}
			text = text[n:]
		}
	}
	if depth > 0 {
		return "", errUnfinished
	}
	write(b, text)
	return "", nil
}

// braced expands what follows "${".
func (e *expander) braced(b *strings.Builder, text string, depth int) (string, error) {
	for _, kind := range []string{"file", "keyring"} {
		if rest, ok := strings.CutPrefix(text, kind+":"); ok && !strings.HasPrefix(rest, "-") {
			return e.fetched(b, kind, rest)
		}
	}
	n := nameLength(text)
	if n == 0 {
		return "", errUnfinished
	}
	name, text := text[:n], text[n:]
	if rest, ok := strings.CutPrefix(text, "}"); ok {
		if b != nil {
			b.WriteString(e.variable(name))
		}
		return rest, nil
	}
	text, ok := strings.CutPrefix(text, ":-")
	if !ok {
		return "", errUnfinished
	}
	if b != nil {
		if v, _ := e.lookup(name); v != "" {
			b.WriteString(v)
			b = nil
		}
	}
	return e.run(b, text, depth+1)
}

// fetched expands what follows "${file:" or "${keyring:".
func (e *expander) fetched(b *strings.Builder, kind, text string) (string, error) {
	where, rest, ok := strings.Cut(text, "}")
	if !ok || where == "" || strings.ContainsAny(where, "${\x00") {
		return "", errUnfinishedSecret
	}
	if b == nil || e.fetch == nil {
		return rest, nil
	}
	value, err := e.fetch(kind, where)
	if err != nil {
		return "", err
	}
	b.WriteString(value)
	return rest, nil
}

// tilde expands ~ in front of text, alone or before a slash.
func (e *expander) tilde(b *strings.Builder, text string, depth int) (string, error) {
	rest, ok := strings.CutPrefix(text, "~")
	alone := rest == "" || depth > 0 && rest[0] == '}'
	if !ok || !alone && rest[0] != '/' {
		return text, nil
	}
	if e.home == "" && b != nil {
		return "", errNoHome
	}
	write(b, e.home)
	return rest, nil
}

func write(b *strings.Builder, s string) {
	if b != nil {
		b.WriteString(s)
	}
}

func (e *expander) variable(name string) string {
	v, ok := e.lookup(name)
	if !ok && !slices.Contains(e.unset, name) {
		e.unset = append(e.unset, name)
	}
	return v
}

// nameLength is the length of the longest variable name text begins with.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}
