// Package recording is the file format in which what went over the boundary between
// a host and its adapters is kept: what each server was, its tools, and its calls with
// their events and results. Recordings are played back in the place of a server, by
// the plugin replay, and held against a plugin, by package adaptertest.
//
// A file is JSON Lines. The first line of each session says what it is; every other
// line is one exchange, written when it is over:
//
//	{"collet":"recording","version":1,"at":"2026-11-30T12:00:00Z","host":"1.2.3"}
//	{"kind":"tools","server":"files","tools":[{"name":"read","definition":{...}}]}
//	{"kind":"call","server":"files","tool":"read","arguments":{"path":"a"},"result":{...},"ms":12}
//
// JSON of others is embedded byte for byte. What cannot be, because it is no JSON, has
// line breaks in it or white space around it, stands as {"$text":"..."} or, when it is
// no UTF-8, as {"$base64":"..."}. Members and kinds that are not known are ignored; a
// file of another version is refused.
//
// The package runs nothing and decides on no secrets: whoever writes says what to
// leave out.
package recording

import (
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// Version is the version of the format that is written, and the only one read.
const Version = 1

// Kind says what an entry is about.
type Kind string

// The kinds of entries.
const (
	Describe  Kind = "describe"
	Configure Kind = "configure"
	Snapshot  Kind = "snapshot"
	Tools     Kind = "tools"
	CallTool  Kind = "call"
	Forward   Kind = "forward"
	Token     Kind = "token"
)

// Entry is one exchange with one server.
type Entry struct {
	Kind   Kind   `json:"kind"`
	Server string `json:"server"`
	MS     int64  `json:"ms"` // how long it took

	Description json.RawMessage `json:"description"` // of Describe, as the sub-command prints it

	Config          Raw  `json:"config"` // of Configure, without secrets
	RestartRequired bool `json:"restartRequired"`

	ServerInfo     Raw      `json:"serverInfo"` // of Snapshot
	ForwardMethods []string `json:"forwardMethods"`

	Page  string `json:"page"` // of Tools: the page that was asked for, "" the first
	Next  string `json:"next"` // and the one that follows, "" none
	Tools []Tool `json:"tools"`

	Tool           string `json:"tool"` // of CallTool
	Arguments      Raw    `json:"arguments"`
	Meta           Raw    `json:"meta"`
	InputResponses Raw    `json:"inputResponses"`
	RequestState   string `json:"requestState"`

	Method string `json:"method"` // of Forward
	Params Raw    `json:"params"`

	Resource string   `json:"resource"` // of Token: what the token is for; the token itself is not written
	Scopes   []string `json:"scopes"`
	Rejected bool     `json:"rejected"` // the one before was refused

	// Of CallTool and Forward: what came before the end, and the end, one of Result,
	// Input and Failure.
	Events  []Event  `json:"events"`
	Asks    []Ask    `json:"asks"`
	Result  Raw      `json:"result"`
	IsError bool     `json:"isError"`
	Input   *Input   `json:"inputRequired"`
	Failure *Failure `json:"failure"` // of any kind
}

// Tool is one tool of a list.
type Tool struct {
	Name         string `json:"name"`
	Definition   Raw    `json:"definition"`
	ReadOnly     *bool  `json:"readOnly"`
	Idempotent   *bool  `json:"idempotent"`
	AsksConsent  bool   `json:"asksConsent"`
	OutputSchema Raw    `json:"outputSchema"`
}

// Event is a progress event, or a log record when Level is not "".
type Event struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`

	Level  string `json:"level"` // "debug", "info", "warn", "error"
	Logger string `json:"logger"`
	Data   Raw    `json:"data"`
}

// Ask is a question to whoever made the call, in the middle of it, and the answer: a
// result or a failure, neither where the call ended before.
type Ask struct {
	After   int      `json:"after"` // how many of the events came before it
	Method  string   `json:"method"`
	Params  Raw      `json:"params"`
	Result  Raw      `json:"result"`
	Failure *Failure `json:"failure"`
}

// Input is a call that ended in input_required.
type Input struct {
	Requests Raw    `json:"requests"`
	State    string `json:"state"`
}

// Failure is a failure.Failure as it is written.
type Failure struct {
	Class        string            `json:"class"`
	Delivery     string            `json:"delivery"`
	Message      string            `json:"message"`
	RetryAfterMS int64             `json:"retryAfterMs"`
	Target       string            `json:"target"`
	UpstreamCode int               `json:"upstreamCode"`
	UpstreamData Raw               `json:"upstreamData"`
	Problems     []failure.Problem `json:"problems"`
	Challenge    string            `json:"challenge"`
}

// FailureOf is a failure in its written form; nil for nil.
func FailureOf(f *failure.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{
		Class: f.Class.String(), Delivery: f.Delivery.String(), Message: f.Message, RetryAfterMS: f.RetryAfter.Milliseconds(),
		Target: f.Target, UpstreamCode: f.UpstreamCode, UpstreamData: f.UpstreamData, Problems: f.Problems, Challenge: f.Challenge,
	}
}

// Failure is the failure that was written. A class or delivery that is not known
// reads as unknown.
func (f *Failure) Failure() *failure.Failure {
	out := &failure.Failure{
		Message: f.Message, RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond, Target: f.Target,
		UpstreamCode: f.UpstreamCode, UpstreamData: f.UpstreamData, Problems: f.Problems, Challenge: f.Challenge,
	}
	for c := failure.Unknown; c <= failure.Canceled; c++ {
		if c.String() == f.Class {
			out.Class = c
		}
	}
	for d := failure.DeliveryUnknown; d <= failure.Answered; d++ {
		if d.String() == f.Delivery {
			out.Delivery = d
		}
	}
	return out
}

// redact has every text of a stranger in the entry go through clean.
func (e *Entry) redact(clean func(string) string) {
	if clean == nil {
		return
	}
	raw := func(list ...*Raw) {
		for _, r := range list {
			if len(*r) > 0 {
				*r = Raw(clean(string(*r)))
			}
		}
	}
	text := func(list ...*string) {
		for _, s := range list {
			*s = clean(*s)
		}
	}
	raw(&e.Config, &e.ServerInfo, &e.Arguments, &e.Meta, &e.InputResponses, &e.Params, &e.Result)
	text(&e.RequestState)
	for i := range e.Tools {
		raw(&e.Tools[i].Definition, &e.Tools[i].OutputSchema)
	}
	for i := range e.Events {
		raw(&e.Events[i].Data)
		text(&e.Events[i].Message)
	}
	e.Resource = clean(e.Resource)
	scopes := make([]string, len(e.Scopes))
	for i, s := range e.Scopes {
		scopes[i] = clean(s)
	}
	e.Scopes = scopes
	asks := make([]Ask, len(e.Asks))
	for i, a := range e.Asks {
		raw(&a.Params, &a.Result)
		a.Failure = a.Failure.redacted(clean)
		asks[i] = a
	}
	e.Asks = asks
	if e.Input != nil {
		raw(&e.Input.Requests)
		text(&e.Input.State)
	}
	e.Failure = e.Failure.redacted(clean)
}

// redacted is the failure with every text of a stranger gone through clean.
func (f *Failure) redacted(clean func(string) string) *Failure {
	if f == nil {
		return nil
	}
	out := *f
	if len(f.UpstreamData) > 0 {
		out.UpstreamData = Raw(clean(string(f.UpstreamData)))
	}
	out.Message, out.Target, out.Challenge = clean(f.Message), clean(f.Target), clean(f.Challenge)
	out.Problems = make([]failure.Problem, len(f.Problems))
	for i, p := range f.Problems {
		p.Message = clean(p.Message)
		out.Problems[i] = p
	}
	return &out
}
