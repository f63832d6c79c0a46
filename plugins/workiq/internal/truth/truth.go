// Package truth reads what Work IQ says when it could not answer: one table of its
// texts, which come as a tool's failure, inside an answer that counts as a success, or
// as an error of the protocol. It reads no answers, and starts nothing.
package truth

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// ErrLicence is in failures that mean that Work IQ wants its licence accepted first;
// then it has done nothing.
var ErrLicence = errors.New("the licence of Work IQ is not accepted")

// Advice is what a person can do about some of the failures, in words.
type Advice struct {
	Licence string // how to accept the licence
	SignIn  string // the command that signs in
}

// line is one text. The first one that is in what was said counts.
type line struct {
	says  string // in lower case
	class failure.Class
	kind  kind
	tip   string
}

type kind uint8

const (
	plain   kind = iota
	licence      // tip is Advice.Licence
	signIn       // tip is about Advice.SignIn
)

const (
	admin  = "an administrator has to allow Work IQ for your organisation, and to give you a Copilot licence; see " + guide
	guide  = "https://github.com/microsoft/work-iq"
	noSign = "Work IQ signs in through a window of this machine's desktop; in a container or without a desktop it cannot be used"
)

var lines = []line{
	{says: "must accept the eula", class: failure.ConsentRequired, kind: licence},

	// What an administrator has to do comes first: to sign in again does not help.
	{says: "aadsts65001", class: failure.AuthFailure, tip: admin},
	{says: "aadsts65002", class: failure.AuthFailure, tip: admin},
	{says: "aadsts650052", class: failure.AuthFailure, tip: admin},
	{says: "aadsts90094", class: failure.AuthFailure, tip: admin},
	{says: "admin consent", class: failure.AuthFailure, tip: admin},
	{says: "need admin approval", class: failure.AuthFailure, tip: admin},
	{says: "not entitled to use this tool", class: failure.AuthFailure, tip: admin},
	{says: "copilotconversation403error", class: failure.AuthFailure, tip: admin},
	{says: "403 (forbidden)", class: failure.AuthFailure, tip: admin},
	{says: "copilot license", class: failure.AuthFailure, tip: admin},
	{says: "access denied for path", class: failure.AuthFailure, tip: "a policy of your organisation forbids it; the same call will be refused again"},

	{says: "msalruntime", class: failure.AuthFailure, tip: noSign},
	{says: "webkit2gtk", class: failure.AuthFailure, tip: noSign},

	// All of these are one thing to a person.
	{says: "re-authenticate", class: failure.AuthFailure, kind: signIn},
	{says: "authentication failed", class: failure.AuthFailure, kind: signIn},
	{says: "aadsts", class: failure.AuthFailure, kind: signIn},
	{says: "interaction_required", class: failure.AuthFailure, kind: signIn},
	{says: "msaluirequiredexception", class: failure.AuthFailure, kind: signIn},
	{says: "accountnotfound", class: failure.AuthFailure, kind: signIn},
	{says: "session has expired", class: failure.AuthFailure, kind: signIn},
	{says: "token has expired", class: failure.AuthFailure, kind: signIn},
	{says: "not signed in", class: failure.AuthFailure, kind: signIn},
	{says: "401 (unauthorized)", class: failure.AuthFailure, kind: signIn},

	{says: "429 (too many requests)", class: failure.RateLimited},
	{says: "too many requests", class: failure.RateLimited},
	{says: "throttled", class: failure.RateLimited},
	{says: "request timed out", class: failure.Timeout},
	{says: "request was canceled due to the configured httpclient.timeout", class: failure.Timeout},
	{says: "name or service not known", class: failure.DNSFailure},
	{says: "no such host is known", class: failure.DNSFailure},
	{says: "connection refused", class: failure.ConnectionRefused},
	{says: "an error occurred while processing your request", class: failure.ServerError,
		tip: "Work IQ does not say which; often it is the sign-in, which a question in a terminal shows"},
}

// Longest is how long such a text may be, in bytes: answers may have the same words
// in them, but do not end so soon.
const Longest = 2 << 10

// Of is the failure that a text means, nil when it is none that is known.
func Of(text string, advice Advice) *failure.Failure {
	if len(text) > Longest {
		return nil
	}
	lower := strings.ToLower(text)
	for _, l := range lines {
		if strings.Contains(lower, l.says) {
			return l.meaning(text, advice)
		}
	}
	return nil
}

func (l line) meaning(text string, advice Advice) *failure.Failure {
	said := strings.TrimRight(strings.TrimSpace(text), ".")
	f := failure.New(l.class, failure.Answered, "Work IQ says: %s", said)
	switch {
	case l.kind == licence:
		f = failure.New(l.class, failure.NotSent, "%w: %s", ErrLicence, advice.Licence)
	case l.kind == signIn:
		f.Message = `Work IQ wants you to sign in: run "` + advice.SignIn + `" in a terminal, then call again (` + said + ")"
	case l.tip != "":
		f.Message += "; " + l.tip
	}
	f.Origin, f.UpstreamData = failure.OriginUpstream, []byte(text)
	return f
}

// Answer is what the JSON that tools answer with says.
type Answer struct {
	Text           string // "" with a Failure or Error
	ConversationID string
	Error          string // what it says in place of an answer
	RetryAfter     time.Duration
	Envelope       bool // it was that JSON, and not text
}

// Read reads the text of ask: an object {response, conversationId, error}, or, of
// some versions, the answer itself.
func Read(text string) Answer {
	object := gjson.Parse(text)
	if !json.Valid([]byte(text)) || !object.IsObject() || !object.Get("response").Exists() && !object.Get("error").Exists() {
		return Answer{Text: text}
	}
	a := Answer{Envelope: true, Text: object.Get("response").String(), ConversationID: object.Get("conversationId").String()}
	switch e := object.Get("error"); {
	case e.Type == gjson.String:
		a.Error = e.Str
	case e.IsObject():
		a.Error = e.Get("message").String()
		if a.Error == "" {
			a.Error = e.Raw
		}
	}
	for _, path := range []string{"retryAfterSeconds", "error.retryAfterSeconds"} {
		if s := object.Get(path); s.Type == gjson.Number && s.Num > 0 {
			a.RetryAfter = time.Duration(min(s.Num, maxRetryAfter.Seconds()) * float64(time.Second))
		}
	}
	return a
}

// maxRetryAfter is more than anybody waits for.
const maxRetryAfter = 24 * time.Hour

// Limited is the failure of an answer that names a time to come back.
func Limited(a Answer, raw string) *failure.Failure {
	said := a.Error
	if said == "" {
		said = "too many requests"
	}
	f := failure.New(failure.RateLimited, failure.Answered, "Work IQ says: %s", strings.TrimRight(said, "."))
	f.RetryAfter, f.Origin, f.UpstreamData = a.RetryAfter, failure.OriginUpstream, []byte(raw[:min(len(raw), Longest)])
	return f
}

// Nothing is the failure of an answer with nothing in it, which is how some failures
// come.
func Nothing(raw string) *failure.Failure {
	f := failure.New(failure.ServerError, failure.Answered, "Work IQ answered with nothing, which is how it reports some failures; ask again later, or in other words")
	f.Origin, f.UpstreamData = failure.OriginUpstream, []byte(raw[:min(len(raw), Longest)])
	return f
}
