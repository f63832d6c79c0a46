package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/collet-dev/collet/plugins/github/internal/fakegithub"
	"github.com/collet-dev/collet/sdk/failure"
)

// asLocal, in the environment, makes the test binary a github-mcp-server on its
// standard input, which does by its environment what the hosted one does by headers.
const asLocal = "TEST_AS_LOCAL_SERVER"

func serveStdio() {
	gh := fakegithub.New()
	defer gh.Close()
	if len(os.Args) < 2 || os.Args[1] != "stdio" || os.Getenv("GITHUB_TOKEN") != "" {
		fmt.Fprintln(os.Stderr, "started in another way than documented")
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(lines.Text()))
		r.Header.Set("Authorization", "Bearer "+os.Getenv("GITHUB_PERSONAL_ACCESS_TOKEN"))
		for header, name := range map[string]string{
			"X-MCP-Toolsets": "GITHUB_TOOLSETS", "X-MCP-Tools": "GITHUB_TOOLS", "X-MCP-Exclude-Tools": "GITHUB_EXCLUDE_TOOLS", "X-MCP-Readonly": "GITHUB_READ_ONLY",
		} {
			r.Header.Set(header, os.Getenv(name))
		}
		w := httptest.NewRecorder()
		gh.ServeHTTP(w, r)
		if w.Code == http.StatusOK {
			fmt.Println(w.Body)
		}
	}
}

// A server of one's own is told the same, and answers the same.
func TestLocalServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.txt", []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	local := func(cfg config, env ...string) *plugin {
		cfg.Command, cfg.Root, cfg.Host = self, dir, "github.acme.com"
		p := start(t, dir, append(env, asLocal+"=1")...)
		if err := p.configure(t, cfg); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := local(config{}, "GITHUB_TOKEN=ghp_fine")
	if tools, err := p.tools(t); err != nil || names(tools) != "create_repository push_directory push_files" {
		t.Fatalf("tools %s, %v", names(tools), err)
	}
	if got, _, err := p.call(t, "create_repository", `{"name":"demo"}`); err != nil || !strings.Contains(got, `"structuredContent":{"id":"1000","url":"https://github.com/octo/demo"}`) {
		t.Errorf("%s, %v", got, err)
	}
	if got, _, err := p.call(t, "push_directory", demo); err != nil || !strings.Contains(got, `"pushed":1`) {
		t.Errorf("%s, %v", got, err)
	}
	p = local(config{Toolsets: []string{"all"}, ReadOnly: true}, "GITHUB_TOKEN=ghp_fine")
	if tools, err := p.tools(t); err != nil || names(tools) != "get_me list_commits" {
		t.Errorf("read-only tools %s, %v", names(tools), err)
	}
	_, err = local(config{}).tools(t)
	if f := wantFailure(t, err, failure.AuthFailure, failure.NotSent); !strings.Contains(f.Message, "gh auth login --hostname github.acme.com") {
		t.Errorf("%q", f.Message)
	}
}

// The environment of a server of one's own.
func TestLocalEnvironment(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_other")
	t.Setenv("GITHUB_TOOLS", "from_outside")
	cmd := config{Command: "x", Host: "github.acme.com", Lockdown: true, Args: []string{"stdio", "--insiders"}}.local("ghp_t")
	env := strings.Join(cmd.Env, "\n") + "\n"
	for _, want := range []string{"GITHUB_PERSONAL_ACCESS_TOKEN=ghp_t\n", "GITHUB_HOST=https://github.acme.com\n", "GITHUB_LOCKDOWN_MODE=true\n", "GITHUB_TOOLS=create_repository,push_files,list_commits\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(env, "ghp_other") || strings.Contains(env, "from_outside") || strings.Contains(env, "GITHUB_READ_ONLY") {
		t.Errorf("environment %s", env)
	}
	if len(cmd.Args) != 2 {
		t.Errorf("arguments %q", cmd.Args)
	}
}
