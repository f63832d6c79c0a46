//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/mcp"
)

// kept waits until something is kept in a directory: it is written behind the answer.
func kept(t *testing.T, dir string) {
	t.Helper()
	limit := patient(t)
	for {
		if files, _ := filepath.Glob(filepath.Join(dir, "*.snapshot")); len(files) > 0 {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond): // a file has no channel of its own
		case <-limit.Done():
			t.Fatal("nothing is kept in ", dir)
		}
	}
}

// collet serve as it ships, killed without warning: the next one has the same list
// although the server cannot be started any more, for clients of both eras.
func TestServeKeepsTheList(t *testing.T) {
	t.Parallel()
	opt := options(t, one)
	scripted(t, opt, "a", works(""))
	dir := filepath.Dir(opt.ConfigFiles[0])
	pidFile := filepath.Join(dir, "pid")
	serve := func(o mcp.Options) *mcp.Client {
		t.Helper()
		c, err := mcp.Start(patient(t), mcp.Command{
			Path: "/bin/sh",
			Args: []string{"-c", `echo $$ >"$0"; exec "$@"`, pidFile, colletProgram(t), "--config", opt.ConfigFiles[0], "serve"},
			Env:  append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir),
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	list := func(c *mcp.Client) string {
		t.Helper()
		raw, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, o := range map[string]mcp.Options{"modern": {}, "legacy": {SkipProbe: true}} {
		scripted(t, opt, "a", works(""))
		c := serve(o)
		before := list(c)
		if !strings.Contains(before, `"a__echo"`) {
			t.Fatalf("%s: %s", name, before)
		}
		if raw, err := c.CallTool(patient(t), "a__echo", json.RawMessage(`{"text":"x"}`), mcp.RequestOptions{}); err != nil || !strings.Contains(string(raw), `"x"`) {
			t.Fatalf("%s: %s %v", name, raw, err)
		}
		kept(t, filepath.Join(dir, "collet", "snapshots"))
		text, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{}); err == nil {
			t.Errorf("%s: it answers although it was killed", name)
		}

		scripted(t, opt, "a", broken)
		c = serve(o)
		if after := list(c); after != before {
			t.Errorf("%s: the list is\n%s\nand was\n%s", name, after, before)
		}
		raw, err := c.CallTool(patient(t), "a__echo", json.RawMessage(`{"text":"x"}`), mcp.RequestOptions{})
		if err != nil || !strings.Contains(string(raw), "the disk is gone") || !strings.Contains(string(raw), "connection-refused") {
			t.Errorf("%s: a call of the server that is down: %s %v", name, raw, err)
		}
		if after := list(c); after != before {
			t.Errorf("%s: after a call the list is\n%s\nand was\n%s", name, after, before)
		}
		if err := c.Close(patient(t)); err != nil {
			t.Error(err)
		}
	}
}
