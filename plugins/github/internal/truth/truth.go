// Package truth reads what GitHub's MCP server says in prose: failures that it
// reports as the answer of a tool, or with a bare HTTP status, become failures of
// the right class, with the time to wait and what a person can do. Its texts are
// those of github-mcp-server and of the GitHub API behind it.
//
// What a tool has to say for itself, a file that is not there or a name that is
// taken, stays the tool's answer.
package truth

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxRaw bounds the text that a failure keeps: with more than 1 KiB of data it
// would keep none.
const maxRaw = 1000

// line is one text and what it means.
type line struct {
	text   string // a part of it
	class  failure.Class
	advice string // what to do, after the text; "" adds nothing
}

// prose are the texts, the first that fits counts. They come behind a prefix such as
// "failed to create repository: POST https://api.github.com/user/repos: ".
var prose = []line{
	{"GitHub API rate limit exceeded", failure.RateLimited, ""},
	{"GitHub secondary rate limit exceeded", failure.RateLimited, ""},
	{": 429 ", failure.RateLimited, "GitHub did not say for how long"},
	{"401 Bad credentials", failure.AuthFailure, "the token is wrong, revoked or expired: make a new one and set GITHUB_TOKEN, or run gh auth login"},
	{"401 Requires authentication", failure.AuthFailure, "the token was not accepted: make a new one and set GITHUB_TOKEN, or run gh auth login"},
	{"Resource protected by organization SAML enforcement", failure.AuthFailure, "authorise the token for the organisation: on GitHub, Settings, Developer settings, the token, Configure SSO"},
	{"Resource not accessible by personal access token", failure.AuthFailure, "the token lacks a permission or this repository: writing files needs Contents: write, creating a repository Administration: write (a classic token: scope repo)"},
	{"Resource not accessible by integration", failure.AuthFailure, "the app behind the token lacks a permission or is not installed there; an app cannot create repositories of a user"},
	{"OAuth App access restrictions", failure.AuthFailure, "an owner of the organisation has to approve the application behind the token"},
	{"403 Must have admin rights", failure.AuthFailure, "the token's owner is no administrator there"},
	{"missing required parameter: ", failure.InvalidArguments, ""},
	{": 500 ", failure.ServerError, ""},
	{": 502 ", failure.ServerError, ""},
	{": 503 ", failure.ServerError, ""},
	{": 504 ", failure.ServerError, ""},
}

// Of returns the failure that the text of a result with isError stands for, nil when
// it is the tool's own answer.
func Of(text string) *failure.Failure {
	for _, l := range prose {
		if !strings.Contains(text, l.text) {
			continue
		}
		message := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "[]"))
		if l.advice != "" {
			message += "; " + l.advice
		}
		f := failure.New(l.class, failure.Answered, "%s", message)
		f.Origin = failure.OriginUpstream
		f.UpstreamData = []byte(text[:min(len(text), maxRaw)])
		if l.class == failure.RateLimited {
			f.RetryAfter = wait(text)
		}
		return f
	}
	return nil
}

// NoCommits says whether the answer of list_commits means that the branch does not
// exist yet.
func NoCommits(text string) bool {
	return strings.Contains(text, ": 409 Git Repository is empty") || strings.Contains(text, ": 404 ")
}

// wait reads "Retry after 1h2m3s."; zero when the text does not say.
func wait(text string) time.Duration {
	_, rest, ok := strings.Cut(text, "Retry after ")
	if !ok {
		return 0
	}
	word, _, _ := strings.Cut(rest, " ")
	d, err := time.ParseDuration(strings.TrimRight(word, ".,;"))
	if err != nil || d < 0 {
		return 0
	}
	return max(d, time.Millisecond) // zero would say that waiting does not help
}

// Explain improves a failure of the endpoint itself.
func Explain(f *failure.Failure) {
	switch {
	case f.UpstreamCode == http.StatusUnauthorized:
		f.Class = failure.AuthFailure
		f.Message = "GitHub refused the token (401): it is wrong, revoked or expired; make a new one and set GITHUB_TOKEN, or run gh auth login"
	case f.UpstreamCode == http.StatusForbidden:
		f.Class = failure.AuthFailure
		f.Message = "the token is not enough (403): " + scopes(f)
	case strings.Contains(f.Message, "Authorization header is badly formatted"):
		f.Class = failure.AuthFailure
		f.Message = "the token does not look like one of GitHub's (400): it starts with ghp_, github_pat_, gho_, ghu_ or ghs_; look at GITHUB_TOKEN, or at token in the config of this server"
	case strings.Contains(f.Message, "unknown tools"):
		f.Class = failure.InvalidArguments
		f.Message = "tools in the config of this server names one that GitHub does not know: " + f.Message
	}
}

// scopes is what a 403 asks for.
func scopes(f *failure.Failure) string {
	if _, rest, ok := strings.Cut(f.Challenge, `scope="`); ok {
		scope, _, _ := strings.Cut(rest, `"`)
		if scope != "" {
			return fmt.Sprintf("give it the scope %s, for instance with gh auth refresh --scopes %s", scope, strings.ReplaceAll(scope, " ", ","))
		}
	}
	return "it lacks a scope or a permission; " + f.Message
}
