package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// mostAnswer bounds an answer of the issuer.
const mostAnswer = 1 << 20

// source is where an issuer's keys come from.
type source struct {
	issuer string
	jwks   string // "" to look it up
	client *http.Client
}

func newSource(opt Options) (*source, error) {
	at, err := safeURL(opt.Issuer)
	if err != nil {
		return nil, err
	}
	if at.RawQuery != "" || at.Fragment != "" || strings.Contains(opt.Issuer, "|") {
		return nil, errors.New("an issuer is a URL without query and fragment (RFC 8414 section 2)")
	}
	if opt.JWKS != "" {
		if _, err := safeURL(opt.JWKS); err != nil {
			return nil, fmt.Errorf("keys at %s: %w", opt.JWKS, err)
		}
	}
	client := &http.Client{}
	if opt.Client != nil {
		*client = *opt.Client
	}
	if client.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		t.MaxIdleConnsPerHost = 1
		client.Transport = t
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	return &source{opt.Issuer, opt.JWKS, client}, nil
}

// safeURL accepts https, and http where nobody is in between.
func safeURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("it is no URL of the form https://HOST")
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u) {
		return u, nil
	}
	return nil, errors.New("keys that come over a connection that others can change prove nothing: use https (http only for an issuer on this computer)")
}

func loopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// fetch returns the issuer's key set as it wrote it.
func (s *source) fetch(ctx context.Context) ([]byte, error) {
	from := s.jwks
	if from == "" {
		var err error
		if from, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	return s.get(ctx, from)
}

// discover looks the key set's address up in the issuer's metadata, which is in one
// of three places (OpenID Connect Discovery section 4, RFC 8414 sections 3 and 5).
func (s *source) discover(ctx context.Context) (string, error) {
	issuer, err := url.Parse(s.issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(issuer.Path, "/")
	at := func(path string) string {
		u := url.URL{Scheme: issuer.Scheme, Host: issuer.Host, Path: path}
		return u.String()
	}
	places := []string{at(path + "/.well-known/openid-configuration"), at("/.well-known/oauth-authorization-server" + path)}
	if path != "" {
		places = append(places, at("/.well-known/openid-configuration"+path))
	}
	var faults []string
	for _, place := range places {
		text, err := s.get(ctx, place)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		var said struct {
			Issuer string
			JWKS   string `json:"jwks_uri"`
		}
		if json.Unmarshal(text, &said) != nil || said.JWKS == "" {
			faults = append(faults, place+": is no metadata with a jwks_uri")
			continue
		}
		if said.Issuer != s.issuer { // RFC 8414 section 3.3
			return "", fmt.Errorf("%s: is the metadata of the issuer %.200q; write the issuer exactly so, if it is the right one", place, said.Issuer)
		}
		u, err := safeURL(said.JWKS)
		if err != nil {
			return "", fmt.Errorf("%s: jwks_uri %.200q: %w", place, said.JWKS, err)
		}
		if loopback(u) && !loopback(issuer) {
			return "", fmt.Errorf("%s: jwks_uri %.200q is on this computer, where the issuer is not", place, said.JWKS)
		}
		return said.JWKS, nil
	}
	return "", fmt.Errorf("the issuer's metadata was not found: %s", strings.Join(faults, "; "))
}

func (s *source) get(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/jwk-set+json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: status %d", from, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", from, err)
	}
	if len(text) > mostAnswer {
		return nil, fmt.Errorf("get %s: the answer is larger than %d bytes", from, mostAnswer)
	}
	return text, nil
}
