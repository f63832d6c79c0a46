package main

import (
	"strings"
	"time"
	"unicode/utf8"
)

// trickle is the time between two comments of sse-trickle.
const trickle = 200 * time.Millisecond

// syntaxes write one event each in an odd but legal way (WHATWG HTML 9.2.6),
// sse-noend aside. emit sends bytes off at once.
var syntaxes = map[string]func(e sent, emit func(string)){
	"sse-multidata": func(e sent, emit func(string)) {
		emit("event: message\ndata: " + strings.ReplaceAll(indented(e.text), "\n", "\ndata: ") + "\n\n")
	},
	"sse-crlf": func(e sent, emit func(string)) {
		emit(strings.ReplaceAll(event(e.text), "\n", "\r\n"))
	},
	"sse-cr": func(e sent, emit func(string)) {
		emit(strings.ReplaceAll(event(e.text), "\n", "\r"))
	},
	"sse-noevent": func(e sent, emit func(string)) { emit("data: " + e.text + "\n\n") },
	"sse-nospace": func(e sent, emit func(string)) { emit("event:message\ndata:" + e.text + "\n\n") },
	"sse-comment": func(e sent, emit func(string)) {
		emit(": before\n:\n\nevent: message\n: within\ndata: " + e.text + "\n\n: after\n\n")
	},
	"sse-bom": func(e sent, emit func(string)) {
		if e.first {
			emit("\ufeff")
		}
		emit(event(e.text))
	},
	"sse-priming": func(e sent, emit func(string)) {
		if e.first {
			emit("id: prime-1\nretry: 500\ndata:\n\n")
		}
		emit(event(e.text))
	},
	"sse-unknown": func(e sent, emit func(string)) {
		emit("event: nasty\ndata: {\"no\":\"message\"}\n\nevent: message\nfoo: bar\nbare\nid\ndata: " + e.text + "\n\n")
	},
	"sse-split": func(e sent, emit func(string)) {
		rest := strings.ReplaceAll(event(e.text), "\n", "\r\n")
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\n' || rest[i-1] >= utf8.RuneSelf && !utf8.RuneStart(rest[i]) {
				emit(rest[:i])
				rest, i = rest[i:], 0
			}
		}
		emit(rest)
	},
	"sse-noend": func(e sent, emit func(string)) {
		if e.final {
			emit("event: message\ndata: " + e.text + "\n")
		} else {
			emit(event(e.text))
		}
	},
}

// sent is one message on a stream: whether it is the first, and whether it is
// the answer.
type sent struct {
	text         string
	first, final bool
}

// event is a message as most servers write it.
func event(text string) string { return "event: message\ndata: " + text + "\n\n" }

// syntax is how this run writes its events.
func (s *server) syntax() func(sent, func(string)) {
	for name, syntax := range syntaxes {
		if s.faults[name] {
			return syntax
		}
	}
	return func(e sent, emit func(string)) { emit(event(e.text)) }
}
