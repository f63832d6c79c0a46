package config

import "github.com/collet-dev/collet/host/internal/name"

// Consent says whether a person is asked before a call: Default for the server
// and Tools by pattern in file order. Default is "" when not said.
type Consent struct {
	Default string
	Tools   []ConsentRule
}

// ConsentRule gives the tools a pattern matches a consent word.
type ConsentRule struct{ Pattern, Consent string }

// The words of consent, from the laxest to the strictest.
const (
	ConsentAllow = "allow" // nobody is asked
	ConsentAsk   = "ask"   // a person is asked before each call
	ConsentDeny  = "deny"  // there are no calls
)

// Of is the word for the server's tool of that name: that of the pattern that is the
// name itself, wherever it stands, else of the first glob that matches, else the
// default; "" when nothing is said.
func (c Consent) Of(tool string) string {
	for _, r := range c.Tools {
		if r.Pattern == tool {
			return r.Consent
		}
	}
	for _, r := range c.Tools {
		if name.Match(r.Pattern, tool) {
			return r.Consent
		}
	}
	return c.Default
}

// ConsentFor is the word that counts for the server's tool of that name, and
// whether a file says it. Where none does it is "ask" for a tool whose adapter asks
// for consent, and "allow" for any other. A project's file makes a tool of a server
// that the user's file names too stricter, never laxer.
func (s *Server) ConsentFor(tool string, adapterAsks bool) (word string, said bool) {
	word, said = s.Consent.or(tool, adapterAsks)
	if s.under == nil {
		return word, said
	}
	if users, by := s.under.or(tool, adapterAsks); strictness[users] > strictness[word] || users == word && by {
		return users, by
	}
	return word, said
}

func (c Consent) or(tool string, adapterAsks bool) (word string, said bool) {
	switch word = c.Of(tool); {
	case word != "":
		return word, true
	case adapterAsks:
		return ConsentAsk, false
	}
	return ConsentAllow, false
}

var strictness = map[string]int{ConsentAllow: 0, ConsentAsk: 1, ConsentDeny: 2}

// consented has the server keep what the user's entry of its name says of consent.
func (s *Server) consented(user *Server) {
	under := user.Consent
	s.under = &under
}

// readConsent reads a word for the whole server, or a table of patterns.
func readConsent(t *table) Consent {
	if _, ok := t.values["consent"].(map[string]any); !ok {
		return Consent{Default: t.word("consent", "", consentWords...)}
	}
	tools := t.table("consent")
	var c Consent
	for _, pattern := range tools.perTool() {
		c.Tools = append(c.Tools, ConsentRule{pattern, tools.word(pattern, "", consentWords...)})
	}
	return c
}
