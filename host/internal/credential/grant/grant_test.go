package grant

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

// endpoint answers in turn, and remembers what it was sent.
type endpoint struct {
	answers []fetch.Answer
	sent    []url.Values
	headers []http.Header
}

func (e *endpoint) Post(_ context.Context, _ string, header http.Header, body string) (*fetch.Answer, error) {
	form, err := url.ParseQuery(body)
	if err != nil {
		return nil, err
	}
	e.sent, e.headers = append(e.sent, form), append(e.headers, header)
	a := e.answers[0]
	if len(e.answers) > 1 {
		e.answers = e.answers[1:]
	}
	if a.Status == 0 {
		return nil, errors.New("unreachable")
	}
	return &a, nil
}

func ok(body string) fetch.Answer { return fetch.Answer{Status: 200, Body: []byte(body)} }

func no(status int, code string) fetch.Answer {
	return fetch.Answer{Status: status, Body: []byte(`{"error":"` + code + `","error_description":"for a reason"}`)}
}

const at = "https://as.example/token"

func TestRead(t *testing.T) {
	form := func(body string) fetch.Answer {
		a := ok(body)
		a.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
		return a
	}
	for name, test := range map[string]struct {
		in    fetch.Answer
		want  Tokens
		fault string
	}{
		"all of it":           {ok(`{"access_token":"a","token_type":"bearer","refresh_token":"r","scope":"x y","expires_in":60}`), Tokens{"a", "r", []string{"x", "y"}, time.Minute, true}, ""},
		"the least":           {ok(`{"access_token":"a"}`), Tokens{Access: "a"}, ""},
		"expired":             {ok(`{"access_token":"a","expires_in":0}`), Tokens{Access: "a", Known: true}, ""},
		"in a string":         {ok(`{"access_token":"a","expires_in":"3600"}`), Tokens{Access: "a", Lifetime: time.Hour, Known: true}, ""},
		"a fraction":          {ok(`{"access_token":"a","expires_in":1.5e1}`), Tokens{Access: "a", Lifetime: 15 * time.Second, Known: true}, ""},
		"for ever":            {ok(`{"access_token":"a","expires_in":1e300}`), Tokens{Access: "a", Lifetime: maxLifetime, Known: true}, ""},
		"before now":          {ok(`{"access_token":"a","expires_in":-5}`), Tokens{Access: "a", Known: true}, ""},
		"no number":           {ok(`{"access_token":"a","refresh_token":"r","expires_in":"3600abc"}`), Tokens{Access: "a", Refresh: "r"}, ""},
		"no number at all":    {ok(`{"access_token":"a","expires_in":{}}`), Tokens{Access: "a"}, ""},
		"not a number":        {ok(`{"access_token":"a","expires_in":"NaN"}`), Tokens{Access: "a"}, ""},
		"null":                {ok(`{"access_token":"a","expires_in":null,"scope":null}`), Tokens{Access: "a"}, ""},
		"scopes in a list":    {ok(`{"access_token":"a","scope":["x","y"]}`), Tokens{Access: "a", Scopes: []string{"x", "y"}}, ""},
		"a form":              {form("access_token=a&scope=x+y&expires_in=5"), Tokens{Access: "a", Scopes: []string{"x", "y"}, Lifetime: 5 * time.Second, Known: true}, ""},
		"status 201":          {fetch.Answer{Status: 201, Body: []byte(`{"access_token":"a"}`)}, Tokens{Access: "a"}, ""},
		"nothing":             {ok(``), Tokens{}, "no token response"},
		"a page":              {ok(`<html>`), Tokens{}, "no token response"},
		"no token":            {ok(`{}`), Tokens{}, "no access_token"},
		"another type":        {ok(`{"access_token":"a","token_type":"DPoP"}`), Tokens{}, `type "DPoP"`},
		"a line break":        {ok(`{"access_token":"a\r\nX: y"}`), Tokens{}, "no header can carry"},
		"too long":            {ok(`{"access_token":"` + strings.Repeat("a", maxToken+1) + `"}`), Tokens{}, "too long"},
		"refused":             {no(400, "invalid_grant"), Tokens{}, `status 400, "invalid_grant": "for a reason"`},
		"refused with 200":    {fetch.Answer{Status: 200, Body: []byte(`{"error":"invalid_grant"}`)}, Tokens{}, `"invalid_grant"`},
		"refused with a page": {fetch.Answer{Status: 502, Body: []byte(`<html>secret`)}, Tokens{}, "status 502"},
		"redirected":          {fetch.Answer{Status: 307}, Tokens{}, "status 307"},
	} {
		got, err := Read(&test.in)
		if !reflect.DeepEqual(got, test.want) || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %+v, %v; want %+v, %q", name, got, err, test.want, test.fault)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the answer is quoted: %v", name, err)
		}
	}
}

func TestFinal(t *testing.T) {
	for _, test := range []struct {
		Refused
		want bool
	}{
		{Refused{Status: 400, Code: "invalid_grant"}, true},
		{Refused{Status: 401, Code: "invalid_client"}, true},
		{Refused{Status: 400, Code: "temporarily_unavailable"}, false},
		{Refused{Status: 500, Code: "invalid_grant"}, false},
		{Refused{Status: 429, Code: "invalid_request"}, false},
		{Refused{Status: 400}, false},
		{Refused{Status: 503}, false},
	} {
		if got := test.Final(); got != test.want {
			t.Errorf("%+v: %v", test.Refused, got)
		}
	}
}

func TestRequests(t *testing.T) {
	e := &endpoint{answers: []fetch.Answer{ok(`{"access_token":"a"}`)}}
	ctx := t.Context()
	public := Endpoint{URL: at, ClientID: "id", Method: "none"}
	if _, err := Code(ctx, e, public, "c", "http://127.0.0.1/cb", "v", "https://r"); err != nil {
		t.Error(err)
	}
	got, err := Refresh(ctx, e, Endpoint{URL: at, ClientID: "id:1", Secret: "s/ü", Method: "client_secret_basic"}, "r", "https://r")
	if err != nil || got.Refresh != "r" {
		t.Errorf("the refresh token that was not replaced: %+v, %v", got, err)
	}
	if _, err := Credentials(ctx, e, Endpoint{URL: at, ClientID: "id", Secret: "s", Method: "client_secret_post"}, []string{"x", "y"}, "https://r"); err != nil {
		t.Error(err)
	}
	if err := Revoke(ctx, e, public, "r", "refresh_token"); err != nil {
		t.Error(err)
	}
	for i, want := range []url.Values{
		{"grant_type": {"authorization_code"}, "code": {"c"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_verifier": {"v"}, "resource": {"https://r"}, "client_id": {"id"}},
		{"grant_type": {"refresh_token"}, "refresh_token": {"r"}, "resource": {"https://r"}},
		{"grant_type": {"client_credentials"}, "scope": {"x y"}, "resource": {"https://r"}, "client_id": {"id"}, "client_secret": {"s"}},
		{"token": {"r"}, "token_type_hint": {"refresh_token"}, "client_id": {"id"}},
	} {
		if !reflect.DeepEqual(e.sent[i], want) {
			t.Errorf("request %d: %v, want %v", i, e.sent[i], want)
		}
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("id%3A1:s%2F%C3%BC")); e.headers[1].Get("Authorization") != want {
		t.Errorf("Authorization %q, want %q", e.headers[1].Get("Authorization"), want)
	}
	if _, err := Refresh(ctx, e, Endpoint{URL: at, Method: "private_key_jwt"}, "r", "x"); err == nil || len(e.sent) != 4 {
		t.Errorf("a method that is not known: %v", err)
	}
	if _, err := Refresh(ctx, &endpoint{answers: []fetch.Answer{{}}}, public, "secret", "x"); err == nil || !strings.Contains(err.Error(), "POST "+at) || strings.Contains(err.Error(), "secret") {
		t.Errorf("unreachable: %v", err)
	}
	if err := Revoke(ctx, &endpoint{answers: []fetch.Answer{no(503, "x")}}, public, "r", ""); err == nil {
		t.Error("a revocation that failed")
	}
}

const started = `{"device_code":"secret-code","user_code":"WDJB-MJHT","verification_uri":"https://as.example/enter","expires_in":600,"interval":3}`

func TestDevice(t *testing.T) {
	e := &endpoint{answers: []fetch.Answer{
		ok(started), no(400, "authorization_pending"), no(400, "slow_down"), {}, no(500, ""), ok(`{"access_token":"a","refresh_token":"r"}`),
	}}
	d, err := StartDevice(t.Context(), e, Endpoint{URL: at, ClientID: "id"}, []string{"x"}, "https://r")
	if err != nil || d.UserCode != "WDJB-MJHT" || d.URL != "https://as.example/enter" || d.Lifetime != 10*time.Minute {
		t.Fatalf("%+v, %v", d, err)
	}
	var pauses []time.Duration
	got, err := d.Wait(t.Context(), e, Endpoint{URL: at, ClientID: "id"}, "https://r", func(_ context.Context, p time.Duration) error {
		pauses = append(pauses, p)
		return nil
	})
	if err != nil || got.Access != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	if want := []time.Duration{3e9, 3e9, 8e9, 16e9, 32e9}; !reflect.DeepEqual(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	if f := e.sent[1]; f.Get("device_code") != "secret-code" || f.Get("resource") != "https://r" {
		t.Errorf("sent %v", f)
	}
}

func TestDeviceEnds(t *testing.T) {
	at := Endpoint{URL: at, ClientID: "id"}
	none := func(context.Context, time.Duration) error { return nil }
	for code, want := range map[string]string{"access_denied": "access_denied", "expired_token": "expired_token", "authorization_pending": "in time"} {
		e := &endpoint{answers: []fetch.Answer{ok(started), no(400, code)}}
		d, err := StartDevice(t.Context(), e, at, nil, "r")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Wait(t.Context(), e, at, "r", none); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", code, err)
		}
	}
	e := &endpoint{answers: []fetch.Answer{ok(started)}}
	d, _ := StartDevice(t.Context(), e, at, nil, "r")
	gone := errors.New("gone")
	if _, err := d.Wait(t.Context(), e, at, "r", func(context.Context, time.Duration) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	for name, answer := range map[string]fetch.Answer{
		"refused": no(400, "unauthorized_client"), "nothing": ok(`{}`),
		"a code of control characters": ok(strings.Replace(started, "WDJB", `\u001b[2J`, 1)),
		"a code without end":           ok(strings.Replace(started, "WDJB", strings.Repeat("W", 99), 1)),
		"a script":                     ok(strings.Replace(started, "https://as.example/enter", "javascript:x", 1)),
	} {
		if _, err := StartDevice(t.Context(), &endpoint{answers: []fetch.Answer{answer}}, at, nil, "r"); err == nil {
			t.Errorf("%s: a device was started", name)
		}
	}
	d, err := StartDevice(t.Context(), &endpoint{answers: []fetch.Answer{ok(strings.Replace(started, `"interval"`, `"verification_uri_complete":"file:///x","interval"`, 1))}}, at, nil, "r")
	if err != nil || d.Complete != "" {
		t.Errorf("a complete URL that nobody may open: %+v, %v", d, err)
	}
}

// Whatever an endpoint answers, what is taken for a token can go into a header.
func FuzzRead(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"access_token":"a","expires_in":"60","scope":"x"}`))
	f.Add(400, "application/json", []byte(`{"error":"invalid_grant"}`))
	f.Add(200, "application/x-www-form-urlencoded", []byte(`access_token=a&expires_in=1`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		got, err := Read(&fetch.Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body})
		if err != nil {
			if got.Access != "" {
				t.Errorf("a token with an error: %v", err)
			}
			return
		}
		if got.Access == "" || strings.ContainsAny(got.Access+got.Refresh, " \r\n\t\x00") || got.Lifetime < 0 || got.Lifetime > maxLifetime {
			t.Errorf("%q: %+v", body, got)
		}
	})
}
