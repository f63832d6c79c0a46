package grant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

const (
	// interval is how often the token is asked for when the server does not say, and
	// slower what it adds when it is asked too often (RFC 8628 sections 3.2, 3.5).
	interval = 5 * time.Second
	slower   = 5 * time.Second
	// maxInterval and maxWait bound what is believed of a server's own times.
	maxInterval = time.Minute
	maxWait     = 30 * time.Minute
	// maxCode bounds a code that a person has to type.
	maxCode = 64
)

// Device is a permission that a person gives on another device.
type Device struct {
	UserCode      string // to type in at URL; printable
	URL, Complete string // Complete has the code in it; "" when there is none
	Lifetime      time.Duration

	code     string
	interval time.Duration
}

// StartDevice asks for a code (RFC 8628 section 3.1). at.URL is the device
// authorization endpoint.
func StartDevice(ctx context.Context, p Poster, at Endpoint, scopes []string, resource string) (Device, error) {
	form := url.Values{"resource": {resource}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	a, err := post(ctx, p, at, form)
	if err != nil {
		return Device{}, err
	}
	body, ok := parse(a)
	if a.Status/100 != 2 || ok && body.Error != "" {
		return Device{}, refused(a)
	}
	if body.VerificationURI == "" {
		body.VerificationURI = body.VerificationURL
	}
	d := Device{UserCode: body.UserCode, URL: body.VerificationURI, Complete: body.Complete, code: body.DeviceCode, interval: interval, Lifetime: maxWait}
	if !ok || d.code == "" || d.UserCode == "" || len(d.UserCode) > maxCode || !printable(strings.ReplaceAll(d.UserCode, " ", "-")) {
		return Device{}, errors.New("the authorization server's answer has no code for a person and a device")
	}
	if _, err := fetch.Endpoint(d.URL); err != nil {
		return Device{}, fmt.Errorf("the authorization server's verification_uri %w", err)
	}
	if _, err := fetch.Endpoint(d.Complete); err != nil {
		d.Complete = ""
	}
	if s, known := seconds(body.Interval); known {
		d.interval = min(max(s, time.Second), maxInterval)
	}
	if s, known := seconds(body.ExpiresIn); known {
		d.Lifetime = min(s, maxWait)
	}
	return d, nil
}

// Wait asks for the tokens of a device until a person has decided, its time is over
// or ctx is done. pause waits between two questions.
func (d Device) Wait(ctx context.Context, p Poster, e Endpoint, resource string, pause func(context.Context, time.Duration) error) (Tokens, error) {
	left := d.Lifetime
	for {
		if left < d.interval {
			return Tokens{}, fmt.Errorf("nobody entered the code %s in time", d.UserCode)
		}
		if err := pause(ctx, d.interval); err != nil {
			return Tokens{}, err
		}
		left -= d.interval
		t, err := exchange(ctx, p, e, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {d.code}, "resource": {resource},
		})
		r, said := errors.AsType[*Refused](err)
		switch {
		case err == nil:
			return t, nil
		case ctx.Err() != nil:
			return Tokens{}, err
		case said && r.Code == "authorization_pending":
		case said && r.Code == "slow_down":
			d.interval += slower
		case said && r.Final():
			return Tokens{}, err
		default: // it did not get through (RFC 8628 section 3.5)
			d.interval = min(2*d.interval, maxInterval)
		}
	}
}
