package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/github/internal/fakegithub"
	"github.com/collet-dev/collet/plugins/github/internal/token"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

func names[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// Both eras; what goes out, and what comes back with its contract.
func TestCreateRepository(t *testing.T) {
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(era, func(t *testing.T) {
			gh := fake(t)
			gh.Old = era != "2026-07-28"
			p := serve(t, config{URL: gh.URL})
			tools, err := p.tools(t)
			if err != nil {
				t.Fatal(err)
			}
			create := tools["create_repository"]
			if create == nil || create.GetReadOnly() || !gjson.GetBytes(create.GetOutputSchema(), "properties.url").Exists() {
				t.Fatalf("tools %s; create_repository %v", names(tools), create)
			}
			for name, tool := range tools {
				if gjson.GetBytes(tool.GetDefinition(), "icons").Exists() {
					t.Errorf("%s has icons", name)
				}
			}
			got, isError, err := p.call(t, "create_repository", `{"name":"demo"}`)
			if err != nil || isError {
				t.Fatalf("%s, %v, %v", got, isError, err)
			}
			if url := gjson.Get(got, "structuredContent.url").Str; url != "https://github.com/octo/demo" {
				t.Errorf("url %q in %s", url, got)
			}
			if _, _, err := p.call(t, "push_files", `{"owner":"octo","repo":"demo","branch":"main","message":"m","files":[{"path":"é/a","content":"1"}]}`); err != nil {
				t.Fatal(err)
			}
			if files := gh.Files("octo/demo", "main"); files["é/a"] != "1" {
				t.Errorf("files %v", files)
			}
			got, isError, err = p.call(t, "create_repository", `{"name":"demo"}`)
			if err != nil || !isError || !strings.Contains(got, "name already exists") {
				t.Errorf("a name that is taken: %s, %v, %v; want the tool's own answer", got, isError, err)
			}
		})
	}
}

func TestHeadersFromConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg   config
		want  map[string]string
		tools string
	}{
		"defaults": {config{}, map[string]string{"X-Mcp-Tools": "create_repository,push_files,list_commits", "X-Mcp-Toolsets": "", "X-Mcp-Readonly": "", "Authorization": "Bearer ghp_fine"}, "create_repository push_directory push_files"},
		"all set": {
			config{Toolsets: []string{"repos", "context"}, Tools: []string{"issue_write"}, Exclude: []string{"list_commits"}, Lockdown: true, Token: "ghp_config"},
			map[string]string{"X-Mcp-Toolsets": "repos,context", "X-Mcp-Tools": "issue_write,push_files,list_commits", "X-Mcp-Exclude-Tools": "", "X-Mcp-Lockdown": "true", "Authorization": "Bearer ghp_config"},
			"create_repository get_me issue_write push_directory push_files",
		},
		"push_directory alone": {
			config{Tools: []string{"push_directory"}, Exclude: []string{"get_me"}},
			map[string]string{"X-Mcp-Tools": "push_files,list_commits", "X-Mcp-Exclude-Tools": "get_me"}, "push_directory",
		},
		"without push_directory": {config{Exclude: []string{"push_directory"}}, map[string]string{"X-Mcp-Tools": "create_repository,push_files", "X-Mcp-Exclude-Tools": ""}, "create_repository push_files"},
		"read-only":              {config{Toolsets: []string{"all"}, ReadOnly: true}, map[string]string{"X-Mcp-Readonly": "true", "X-Mcp-Tools": ""}, "get_me list_commits"},
	} {
		t.Run(name, func(t *testing.T) {
			gh := fake(t)
			test.cfg.URL = gh.URL
			p := serve(t, test.cfg)
			tools, err := p.tools(t)
			if err != nil || names(tools) != test.tools {
				t.Errorf("tools %s, %v; want %s", names(tools), err, test.tools)
			}
			for _, h := range gh.Seen() {
				for name, want := range test.want {
					if h.Get(name) != want {
						t.Errorf("%s: %q, want %q", name, h.Get(name), want)
					}
				}
			}
		})
	}
}

// What keeps a token from working is said at once, with what to do.
func TestTokens(t *testing.T) {
	for name, test := range map[string]struct {
		token    string
		class    failure.Class
		delivery failure.Delivery
		says     string
	}{
		"none":       {"", failure.AuthFailure, failure.NotSent, "no GitHub token: set GITHUB_TOKEN, or token in the config of this server, or run gh auth login"},
		"revoked":    {fakegithub.Revoked, failure.AuthFailure, failure.Answered, "revoked or expired"},
		"scant":      {fakegithub.Scant, failure.AuthFailure, failure.Answered, "gh auth refresh --scopes repo,read:org"},
		"not GitHub": {"sk-12345", failure.AuthFailure, failure.Answered, "does not look like one of GitHub's"},
	} {
		t.Run(name, func(t *testing.T) {
			gh := fake(t)
			p := start(t, t.TempDir(), "GITHUB_TOKEN="+test.token)
			if err := p.configure(t, config{URL: gh.URL}); err != nil {
				t.Fatalf("Configure: %v", err)
			}
			began := time.Now()
			_, err := p.tools(t)
			if f := wantFailure(t, err, test.class, test.delivery); !strings.Contains(f.Message, test.says) || strings.HasPrefix(f.Message, "connect to") {
				t.Errorf("%q does not say %q", f.Message, test.says)
			}
			_, _, err = p.call(t, "create_repository", `{"name":"demo"}`)
			wantFailure(t, err, test.class, test.delivery)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if test.delivery == failure.NotSent && len(gh.Seen()) > 0 {
				t.Error("something was sent without a token")
			}
			if test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("the token is in %q", err)
			}
		})
	}
}

// gh is asked where nothing else has a token, and asked again when its word changed.
func TestTokenOfGH(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for gh is a shell script")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = \"auth token --hostname github.com\" ] && echo gho_fromgh\n"
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	gh := fake(t)
	p := start(t, t.TempDir(), "PATH="+bin+":/bin:/usr/bin")
	if err := p.configure(t, config{URL: gh.URL}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.tools(t); err != nil {
		t.Fatal(err)
	}
	if got := gh.Seen()[0].Get("Authorization"); got != "Bearer gho_fromgh" {
		t.Errorf("sent %q", got)
	}

	// It logs out there, and in again.
	says := func(token string) {
		if err := os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho "+token+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	says(fakegithub.Revoked)
	p = start(t, t.TempDir(), "PATH="+bin+":/bin:/usr/bin")
	if err := p.configure(t, config{URL: gh.URL}); err != nil {
		t.Fatal(err)
	}
	_, _, err := p.call(t, "create_repository", `{"name":"x"}`)
	wantFailure(t, err, failure.AuthFailure, failure.Answered)
	says("gho_anew")
	if _, _, err := p.call(t, "create_repository", `{"name":"x"}`); err != nil {
		t.Errorf("with a new token: %v", err)
	}
	seen := gh.Seen()
	if got := seen[len(seen)-1].Get("Authorization"); got != "Bearer gho_anew" {
		t.Errorf("sent %q", got)
	}
}

func TestBadConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  config
		path string
	}{
		"both":              {config{URL: "https://x", Command: "y"}, "/url"},
		"enterprise server": {config{Host: "github.acme.com"}, "/host"},
		"in the clear":      {config{URL: "http://api.example.com/mcp"}, "/url"},
		"pattern":           {config{Writable: []string{"octo/"}}, "/writable"},
	} {
		t.Run(name, func(t *testing.T) {
			f := wantFailure(t, start(t, t.TempDir()).configure(t, test.cfg), failure.InvalidArguments, failure.NotSent)
			if len(f.Problems) != 1 || f.Problems[0].Path != test.path {
				t.Errorf("problems %v, want one at %s", f.Problems, test.path)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	for want, cfg := range map[string]config{
		"https://api.githubcopilot.com/mcp/":   {},
		"https://copilot-api.acme.ghe.com/mcp": {Host: "Acme.ghe.com"},
		"https://mcp.example.com/mcp/x/repos":  {URL: "https://mcp.example.com/mcp/x/repos"},
	} {
		if got := cfg.endpoint(); got != want || cfg.check() != nil {
			t.Errorf("%+v: %s, %v; want %s", cfg, got, cfg.check(), want)
		}
	}
}

func TestWritesStayWhereTheyMay(t *testing.T) {
	gh := fake(t)
	p := serve(t, config{URL: gh.URL, Toolsets: []string{"all"}, Writable: []string{"octo/demo*", "@me/x"}})
	push := func(owner, repo string) error {
		args, _ := json.Marshal(map[string]any{"owner": owner, "repo": repo, "branch": "main", "message": "m", "files": []any{}})
		_, _, err := p.call(t, "push_files", string(args))
		return err
	}
	if err := push("Octo", "Demo-1"); err != nil {
		t.Errorf("an allowed repository: %v", err)
	}
	wantFailure(t, push("octo", "other"), failure.InvalidArguments, failure.NotSent)
	wantFailure(t, push("octopus", "demo"), failure.InvalidArguments, failure.NotSent)
	if _, _, err := p.call(t, "create_repository", `{"name":"x"}`); err != nil {
		t.Errorf("an allowed name of one's own: %v", err)
	}
	_, _, err := p.call(t, "create_repository", `{"name":"x","organization":"acme"}`)
	wantFailure(t, err, failure.InvalidArguments, failure.NotSent)
	if got, _, err := p.call(t, "get_me", `{}`); err != nil || !gjson.Get(got, `_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("a read: %s, %v", got, err)
	}

	p = serve(t, config{URL: gh.URL, Toolsets: []string{"all"}, ReadOnly: true})
	_, _, err = p.call(t, "issue_write", `{"owner":"octo","repo":"demo"}`)
	wantFailure(t, err, failure.NotFound, failure.NotSent)
}

func TestProseOfACall(t *testing.T) {
	gh := fake(t)
	text, isError := "", true
	gh.Answer = func(string, json.RawMessage) (string, bool, bool) { return text, isError, true }
	p := serve(t, config{URL: gh.URL})
	text = "failed to create repository: GitHub API rate limit exceeded. Retry after 42s."
	_, _, err := p.call(t, "create_repository", `{"name":"x"}`)
	if f := wantFailure(t, err, failure.RateLimited, failure.Answered); f.RetryAfter != 42*time.Second || string(f.UpstreamData) != text {
		t.Errorf("retry after %s, data %s", f.RetryAfter, f.UpstreamData)
	}
	text, isError = `{"message":"ok"}`, false
	_, _, err = p.call(t, "create_repository", `{"name":"x"}`)
	wantFailure(t, err, failure.InvalidResult, failure.Answered)
}

func TestUnknownToolOfConfig(t *testing.T) {
	p := serve(t, config{URL: fake(t).URL, Tools: []string{"get_issue"}})
	_, err := p.tools(t)
	if f := wantFailure(t, err, failure.InvalidArguments, failure.Answered); !strings.Contains(f.Message, "get_issue") {
		t.Errorf("%q does not name the tool", f.Message)
	}
}

// What strangers wrote is labelled, whichever tool reads it; what GitHub itself says of
// a write is not, and no definition has icons.
func TestLabels(t *testing.T) {
	sh := shape(config{Toolsets: []string{"all"}}, &token.Source{})
	answer := json.RawMessage(`{"content":[{"type":"text","text":"{\"id\":\"1\",\"url\":\"https://github.com/o/r\"}"}]}`)
	for name, want := range map[string]bool{
		"get_file_contents": true, "search_code": true, "list_issues": true, "issue_read": true, "pull_request_read": true, "get_commit": true,
		"create_repository": false, "issue_write": false,
	} {
		res, err := sh.Judge(&adapter.Call{Tool: name}, &adapter.Result{JSON: answer})
		if err != nil || gjson.GetBytes(res.JSON, `_meta.collet\.dev/untrusted`).Bool() != want {
			t.Errorf("%s: %v, %v; labelled should be %t", name, res, err, want)
		}
		tool, ok := sh.Edit(adapter.Tool{Name: name, Definition: json.RawMessage(`{"name":"` + name + `","icons":[{"src":"data:"}],"_meta":{"ui":1}}`)})
		if d := gjson.ParseBytes(tool.Definition); !ok || d.Get("icons").Exists() || d.Get("_meta").Exists() {
			t.Errorf("%s: %s", name, tool.Definition)
		}
	}
}
