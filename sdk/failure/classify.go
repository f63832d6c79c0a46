package failure

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Classify returns err as a Failure: the one it wraps, or a new one whose class
// follows from the types in its chain. Texts are never matched. The delivery of
// a new failure is NotSent where the connection certainly never came about
// (refused, unreachable, unresolvable) and unknown otherwise. Classify of nil is
// nil.
func Classify(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	f = &Failure{Message: message(err), Err: err}
	var (
		dns *net.DNSError
		op  *net.OpError
		nt  net.Error
	)
	switch {
	case errors.Is(err, context.Canceled): // also while dialling or resolving
		f.Class = Canceled
	case errors.As(err, &dns):
		f.Class, f.Delivery, f.Target = DNSFailure, NotSent, dns.Name
	case slices.ContainsFunc(unreachable, func(e error) bool { return errors.Is(err, e) }):
		f.Class, f.Delivery = ConnectionRefused, NotSent
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &nt) && nt.Timeout():
		f.Class = Timeout
		if errors.As(err, &op) && op.Op == "dial" {
			f.Delivery = NotSent
		}
	}
	if f.Target == "" && errors.As(err, &op) && op.Addr != nil {
		f.Target = op.Addr.String()
	}
	return f
}

// message is err's text with every URL of a url.Error in its chain cut down to
// scheme, host and path: tokens live in the rest.
func message(err error) string {
	text := err.Error()
	for u := (*url.Error)(nil); errors.As(err, &u); err = u.Err {
		quoted := strconv.Quote(u.URL) // as url.Error writes it
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], bare(u.URL))
	}
	return text
}

func bare(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
