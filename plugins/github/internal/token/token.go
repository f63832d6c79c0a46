// Package token finds the GitHub token of a request, anew each time: in the
// configuration, in the environment, and with the GitHub CLI. It stores none, and
// never puts one into a message.
package token

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// Variable is the environment variable that is looked at.
const Variable = "GITHUB_TOKEN"

const (
	// askTimeout bounds one run of gh, which may open a keyring: longer and the
	// keyring waits for a person.
	askTimeout = 5 * time.Second
	// fresh is how long an answer of gh is used: a call makes several requests, and
	// each run of gh takes some 50 ms.
	fresh = 10 * time.Second
)

// Source is where the tokens of one server come from.
type Source struct {
	// Config is the token of the configuration; "" looks elsewhere.
	Config string
	// Host is whose token gh is asked for: "github.com", "acme.ghe.com".
	Host string
	// Own says that only the configured token may be sent: what the environment holds
	// is meant for GitHub, not for any URL.
	Own bool

	mu    sync.Mutex
	value string // of gh, good until
	until time.Time
}

// Get returns the token to use now. The error is a failure, AuthFailure and not
// sent, that says how to get one.
func (s *Source) Get(ctx context.Context) (string, error) {
	if t := strings.TrimSpace(s.Config); t != "" {
		return t, nil
	}
	if s.Own {
		return "", failure.New(failure.AuthFailure, failure.NotSent,
			"no token: set token in the config of this server (%s and gh are only asked for GitHub's own hosts)", Variable)
	}
	if t := strings.TrimSpace(os.Getenv(Variable)); t != "" {
		return t, nil
	}
	if t := s.gh(ctx); t != "" {
		return t, nil
	}
	login := "gh auth login"
	if s.Host != "" && s.Host != "github.com" {
		login += " --hostname " + s.Host
	}
	return "", failure.New(failure.AuthFailure, failure.NotSent,
		"no GitHub token: set %s, or token in the config of this server, or run %s", Variable, login)
}

// Refused forgets what gh said, because GitHub did not accept it.
func (s *Source) Refused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// gh asks the GitHub CLI; "" when it is not there or knows none.
func (s *Source) gh(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.value
	}
	args := []string{"auth", "token"}
	if s.Host != "" {
		args = append(args, "--hostname", s.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gh", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	s.value, s.until = strings.TrimSpace(string(out)), time.Now().Add(fresh)
	return s.value
}

// OwnHost says whether a URL is one that a token of the environment is meant for:
// GitHub's own, or this machine.
func OwnHost(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if host == "127.0.0.1" || host == "::1" || host == "localhost" {
		return true
	}
	return u.Scheme == "https" && (host == "api.githubcopilot.com" || strings.HasSuffix(host, ".githubcopilot.com") || strings.HasSuffix(host, ".ghe.com"))
}
