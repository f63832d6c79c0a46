package truth

import (
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// The texts as github-mcp-server 1.10 writes them.
func TestProse(t *testing.T) {
	const create = "failed to create repository: POST https://api.github.com/user/repos: "
	for text, want := range map[string]struct {
		class failure.Class
		after time.Duration
		says  string
	}{
		"failed to create repository: GitHub API rate limit exceeded. Retry after 42s.":                                                                        {failure.RateLimited, 42 * time.Second, ""},
		"failed to create repository: GitHub API rate limit exceeded. Retry after 1h2m3s.":                                                                     {failure.RateLimited, time.Hour + 2*time.Minute + 3*time.Second, ""},
		"failed to create repository: GitHub API rate limit exceeded. Wait before retrying.":                                                                   {failure.RateLimited, 0, ""},
		"failed to create repository: GitHub API rate limit exceeded. Retry after 0s.":                                                                         {failure.RateLimited, time.Millisecond, ""},
		"failed to push: GitHub secondary rate limit exceeded. Retry after 7s.":                                                                                {failure.RateLimited, 7 * time.Second, ""},
		create + "429 Too many requests []":                                                                                                                    {failure.RateLimited, 0, "did not say"},
		create + "401 Bad credentials []":                                                                                                                      {failure.AuthFailure, 0, "gh auth login"},
		create + "401 Requires authentication []":                                                                                                              {failure.AuthFailure, 0, "gh auth login"},
		create + "403 Resource not accessible by personal access token []":                                                                                     {failure.AuthFailure, 0, "Contents: write"},
		create + "403 Resource not accessible by integration []":                                                                                               {failure.AuthFailure, 0, "cannot create repositories of a user"},
		create + "403 Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization. []":          {failure.AuthFailure, 0, "Configure SSO"},
		create + "403 Although you appear to have the correct authorization credentials, the `acme` organization has enabled OAuth App access restrictions []": {failure.AuthFailure, 0, "an owner"},
		create + "403 Must have admin rights to Repository. []":                                                                                                {failure.AuthFailure, 0, "administrator"},
		"missing required parameter: name":                                                                                                                     {failure.InvalidArguments, 0, ""},
		create + "500 []":                                                                                                                                      {failure.ServerError, 0, ""},
		create + "502 Server Error []":                                                                                                                         {failure.ServerError, 0, ""},
		create + "503 Service unavailable []":                                                                                                                  {failure.ServerError, 0, ""},
		create + "504 Gateway timeout []":                                                                                                                      {failure.ServerError, 0, ""},
	} {
		f := Of(text)
		if f == nil {
			t.Errorf("%s: the tool's own answer, want %s", text, want.class)
			continue
		}
		if f.Class != want.class || f.Delivery != failure.Answered || f.RetryAfter != want.after || !strings.Contains(f.Message, want.says) || string(f.UpstreamData) != text {
			t.Errorf("%s: %s after %s, %q", text, f.Class, f.RetryAfter, f.Message)
		}
	}
	for _, text := range []string{
		create + "422 Repository creation failed. [{Resource:Repository Field:name Code:custom Message:name already exists on this account}]",
		"failed to get file contents: GET https://api.github.com/repos/o/r/contents/x: 404 Not Found []",
		"failed to list commits: GET https://api.github.com/repos/o/r/commits: 409 Git Repository is empty. []",
		"",
	} {
		if f := Of(text); f != nil {
			t.Errorf("%s: %s, want the tool's own answer", text, f.Class)
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	f := Of("x: 500 " + strings.Repeat("é", 5000))
	if len(f.UpstreamData) > maxRaw {
		t.Errorf("%d bytes of data", len(f.UpstreamData))
	}
}
