package fakeauth

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.note(r)
	s.counts.TokenRequests++
	n, fault, after := s.counts.TokenRequests, s.Fault, s.After
	s.mu.Unlock()
	if fault != nil && fault(n, w, r) {
		return
	}
	s.mu.Lock()
	status, doc := s.decide(r)
	s.mu.Unlock()
	if after != nil && after(n, w, r) {
		return
	}
	answer(w, status, doc)
}

func problem(code, description string) (int, any) {
	return http.StatusBadRequest, map[string]string{"error": code, "error_description": description}
}

// decide answers a request for a token; the caller holds mu.
func (s *Server) decide(r *http.Request) (int, any) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	c, known := s.known(id)
	if !known || c.secret != secret {
		return http.StatusUnauthorized, map[string]string{"error": "invalid_client"}
	}
	if r.Form.Get("resource") != s.URL+"/mcp" {
		return problem("invalid_target", "resource is missing or another one")
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		return s.exchange(r, id)
	case "refresh_token":
		return s.refresh(r, id)
	case "client_credentials":
		if c.secret == "" {
			return problem("unauthorized_client", "")
		}
		s.counts.Credentials++
		g := &family{clientID: id, scopes: strings.Fields(r.Form.Get("scope")), access: map[string]time.Time{}}
		s.grants = append(s.grants, g)
		return s.issue(g, false)
	case "urn:ietf:params:oauth:grant-type:device_code":
		allowed, known := s.devices[r.Form.Get("device_code")]
		switch {
		case !known:
			return problem("expired_token", "")
		case !allowed:
			return problem("authorization_pending", "")
		}
		delete(s.devices, r.Form.Get("device_code"))
		g := &family{clientID: id, access: map[string]time.Time{}}
		s.grants = append(s.grants, g)
		return s.issue(g, true)
	}
	return problem("unsupported_grant_type", "")
}

func (s *Server) exchange(r *http.Request, id string) (int, any) {
	c, ok := s.codes[r.Form.Get("code")]
	switch {
	case !ok || c.used || c.clientID != id || c.redirect != r.Form.Get("redirect_uri"):
		return problem("invalid_grant", "the code is not good")
	case !verifies(c.challenge, r.Form.Get("code_verifier")):
		return problem("invalid_grant", "the verifier is not the challenge's")
	}
	c.used = true
	s.codes[r.Form.Get("code")] = c
	s.counts.Codes++
	g := &family{clientID: id, resource: c.resource, scopes: c.scopes, access: map[string]time.Time{}}
	s.grants = append(s.grants, g)
	return s.issue(g, true)
}

func (s *Server) refresh(r *http.Request, id string) (int, any) {
	used := r.Form.Get("refresh_token")
	for _, g := range s.grants {
		switch {
		case g.clientID != id:
		case g.refresh == used && !g.revoked:
			s.counts.Refreshes++
			if !s.Static {
				g.old = append(g.old, used)
			}
			return s.issue(g, true)
		case s.Grace && !g.revoked && len(g.old) > 0 && g.old[len(g.old)-1] == used:
			return http.StatusOK, g.last
		case slices.Contains(g.old, used):
			s.counts.Reuses++
			if !g.revoked {
				g.revoked = true
				s.counts.Revocations++
			}
		}
	}
	return problem("invalid_grant", "the refresh token is not good any more")
}

// issue gives a family new tokens, which end the access tokens of before.
func (s *Server) issue(g *family, refreshable bool) (int, any) {
	access := "at-" + rand.Text()
	clear(g.access)
	g.access[access] = time.Now().Add(s.Lifetime)
	doc := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(s.Lifetime.Seconds())}
	switch s.ExpiresIn {
	case "":
	case "-":
		delete(doc, "expires_in")
	default:
		doc["expires_in"] = json.RawMessage(s.ExpiresIn)
	}
	if refreshable && (!s.Static || g.refresh == "") {
		g.refresh = "rt-" + rand.Text()
		doc["refresh_token"] = g.refresh
	}
	if len(g.scopes) > 0 {
		doc["scope"] = strings.Join(g.scopes, " ")
	}
	g.last = doc
	return http.StatusOK, doc
}

// RevokeAll ends every login, as an administrator does.
func (s *Server) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		g.revoked = true
	}
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	for _, g := range s.grants {
		if t := r.Form.Get("token"); t == g.refresh {
			g.revoked = true
		} else {
			delete(g.access, t)
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) device(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	c := "d-" + rand.Text()
	s.devices[c] = false
	answer(w, http.StatusOK, map[string]any{
		"device_code": c, "user_code": "WDJB-MJHT", "verification_uri": s.URL + "/enter", "expires_in": 600, "interval": 1,
	})
}
