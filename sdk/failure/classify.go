package failure

import (
	"context"
	"errors"
	"net"
	"net/url"
	"syscall"
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
	case errors.As(err, &dns):
		f.Class, f.Delivery, f.Target = DNSFailure, NotSent, dns.Name
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		f.Class, f.Delivery = ConnectionRefused, NotSent
	case errors.Is(err, context.Canceled):
		f.Class = Canceled
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

// message is err's text without the query strings of URLs in it: tokens live
// there.
func message(err error) string {
	var u *url.Error
	if !errors.As(err, &u) {
		return err.Error()
	}
	parsed, parseErr := url.Parse(u.URL)
	if parseErr != nil {
		return u.Op + ": " + u.Err.Error()
	}
	parsed.RawQuery, parsed.Fragment, parsed.User = "", "", nil
	return u.Op + " " + parsed.String() + ": " + u.Err.Error()
}
