package main

import (
	"os"
	"testing"
)

// TestLive asks the real GitHub for its tools and who the token belongs to; it
// changes nothing.
func TestLive(t *testing.T) {
	if os.Getenv("COLLET_LIVE_TESTS") != "1" {
		t.Skip("COLLET_LIVE_TESTS=1 asks the real GitHub, with GITHUB_TOKEN or gh")
	}
	p := start(t, t.TempDir(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "GITHUB_TOKEN="+os.Getenv("GITHUB_TOKEN"))
	if err := p.configure(t, config{Tools: []string{"get_me", "create_repository", "push_files"}}); err != nil {
		t.Fatal(err)
	}
	tools, err := p.tools(t)
	if err != nil {
		t.Fatal(err)
	}
	if names(tools) != "create_repository get_me push_directory push_files" {
		t.Errorf("tools %s", names(tools))
	}
	if got, isError, err := p.call(t, "get_me", `{}`); err != nil || isError {
		t.Errorf("get_me: %s, %v, %v", got, isError, err)
	}
}
