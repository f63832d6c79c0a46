// Package failure is the one vocabulary in which collet says why a call could
// not be carried out: a class, what is known about delivery, and a sentence for
// a person. Adapters make failures, the contract carries them as a detail of a
// gRPC status, the host decides on retries and exit codes from them.
//
// A tool that ran and reports an error is not a failure: it is a result with
// isError. Package failure never decides whether to retry.
package failure

import (
	"fmt"
	"time"
)

// Class says what kind of thing went wrong. The zero value is Unknown.
type Class uint8

// The classes of collet.adapter.v1.FailureClass, then those only a host sets.
const (
	Unknown           Class = iota
	ConnectionRefused       // nothing answers there: refused, unreachable, exited, cannot be started
	Timeout                 // no answer in time
	DNSFailure              // the name does not resolve
	AuthFailure             // a credential is missing, refused or not enough
	InvalidArguments        // the arguments, or the configuration, break their schema
	ServerError             // the upstream answered that it failed
	NotFound                // the tool was withdrawn, or never existed
	RateLimited             // refused for now; see RetryAfter
	ConsentRequired         // a person has to agree first
	InvalidResult           // the upstream's answer is not what the protocol or the tool's schema allows
	OverBudget              // the result is larger than the caller may receive; set by the host alone
	Canceled                // the caller gave up; set by the host alone
)

var classNames = [...]string{
	Unknown:           "unknown",
	ConnectionRefused: "connection-refused",
	Timeout:           "timeout",
	DNSFailure:        "dns-failure",
	AuthFailure:       "auth-failure",
	InvalidArguments:  "invalid-arguments",
	ServerError:       "server-error",
	NotFound:          "not-found",
	RateLimited:       "rate-limited",
	ConsentRequired:   "consent-required",
	InvalidResult:     "invalid-result",
	OverBudget:        "over-budget",
	Canceled:          "canceled",
}

// String returns the word that scripts and people see, "connection-refused".
// A class this build does not know reads as "unknown".
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Unknown]
}

// Delivery says whether the upstream can have acted on the request.
type Delivery uint8

const (
	// DeliveryUnknown: it was sent, or may have been, and no answer came.
	DeliveryUnknown Delivery = iota
	// NotSent: it certainly never reached the upstream, so repeating it is safe.
	NotSent
	// Answered: the upstream answered, and the answer is this failure.
	Answered
)

// String returns "unknown", "not-sent" or "answered".
func (d Delivery) String() string {
	switch d {
	case NotSent:
		return "not-sent"
	case Answered:
		return "answered"
	default:
		return "unknown"
	}
}

// Origin says whose fault it is.
type Origin uint8

const (
	OriginUnspecified Origin = iota
	OriginAdapter            // the adapter's own fault
	OriginUpstream           // the server it talks to
	OriginHost               // the host's word: crashed, timed out, over a limit
)

// Problem is one broken rule of the arguments or the configuration.
type Problem struct {
	Path    string `json:"path"`    // JSON Pointer (RFC 6901) into the instance; "" is its root
	Rule    string `json:"rule"`    // the schema keyword that failed: "required"
	Message string `json:"message"` // for a person
}

// Failure says why a call could not be carried out. Make one with New and fill
// in what is known. Message is one sentence without secrets; it does not repeat
// the server's name, which whoever prints it adds.
type Failure struct {
	Class    Class
	Delivery Delivery
	// RetryAfter is the upstream's own word on when to come back; zero means it
	// gave none. Under RateLimited, none means a quota: waiting does not help.
	RetryAfter time.Duration
	Message    string
	Origin     Origin
	Target     string // what was being reached: "api.github.com:443"
	// UpstreamCode is the HTTP status or JSON-RPC error code; zero means none.
	UpstreamCode int
	// UpstreamData is JSON-RPC error.data or a bounded response body.
	UpstreamData []byte
	Problems     []Problem // for InvalidArguments
	Challenge    string    // the WWW-Authenticate header, for AuthFailure
	Err          error     // the cause inside this process; it does not travel
}

// New returns a failure of the given class and delivery. A %w verb in format
// sets Err as fmt.Errorf would. Of URLs in a wrapped *url.Error only scheme, host
// and path enter the message.
func New(class Class, delivery Delivery, format string, args ...any) *Failure {
	err := fmt.Errorf(format, args...)
	f := &Failure{Class: class, Delivery: delivery, Message: message(err)}
	if u, ok := err.(interface{ Unwrap() error }); ok {
		f.Err = u.Unwrap()
	}
	return f
}

// Error returns the message alone, so that a wrapped failure reads as a sentence.
func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Class.String()
	}
	return f.Message
}

// Unwrap returns the cause, if this process knows it.
func (f *Failure) Unwrap() error { return f.Err }
