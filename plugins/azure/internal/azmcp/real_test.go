package azmcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// patience bounds a whole test with the real server, which takes a second to start
// and up to twelve to find out that Azure is not there.
const patience = 2 * time.Minute

// real starts the pinned server, with no network: a proxy that is not there refuses
// every connection at once.
func real(t *testing.T, opt Options) (*mcp.Client, context.Context) {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_NPM_DIR")
	if !must {
		dir = filepath.Join("..", "..", "..", "..", ".cache", "npm")
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", "@azure", "mcp", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && !must {
		t.Skipf("no Azure MCP server from npm, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_NPM_DIR names no Azure MCP server: %v", err)
	}
	for _, name := range Environment() {
		t.Setenv(name, "")
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	opt.Command = []string{path}
	cmd := opt.command(t.TempDir())
	if strings.HasSuffix(cmd.Path, ".js") {
		t.Fatalf("the package for this system is not installed: %s", cmd.Path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c, err := mcp.Start(ctx, cmd, mcp.Options{ClientInfo: mcp.ClientInfo{Name: "test", Version: "1"}, SkipProbe: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c, ctx
}

// TestRealCommands holds what is pinned here against the real server: each tool that
// is offered has the commands that are said to only read, by the server's own word,
// too, and its list of them becomes structured content.
func TestRealCommands(t *testing.T) {
	c, ctx := real(t, Options{})
	if v := version(c.Server()); v != pinnedVersion {
		t.Errorf("version %s, the lists are of %s", v, pinnedVersion)
	}
	list, err := c.ReadTools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var opt Options
	offered, found := 0, []string{}
	for _, definition := range list.Tools {
		name := gjson.GetBytes(definition, "name").Str
		tool, ok := opt.edit(adapter.Tool{Name: name, Definition: definition})
		if !ok {
			if name != documentation && !slices.Contains(writers, name) {
				t.Errorf("%s is not offered", name)
			}
			continue
		}
		offered++
		enum := gjson.GetBytes(tool.Definition, "inputSchema.properties.command.enum")
		if !enum.Exists() {
			found = append(found, name)
			if !gjson.GetBytes(definition, "annotations.readOnlyHint").Bool() {
				t.Errorf("%s: the server does not say that it only reads", name)
			}
			continue
		}
		raw, err := c.CallTool(ctx, name, json.RawMessage(`{"intent":"see"}`), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := judge(&adapter.Call{Tool: name, Args: json.RawMessage(`{"intent":"see"}`)}, &adapter.Result{JSON: raw}, chain)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		harmless := map[string]bool{}
		for _, command := range listed(gjson.GetBytes(raw, "content.0.text").Str) {
			harmless[command.Get("name").Str] = command.Get("annotations.readOnlyHint").Bool()
		}
		for _, command := range enum.Array() {
			if !harmless[command.Str] {
				t.Errorf("%s: the server does not say that %s only reads", name, command.Str)
			}
			found = append(found, command.Str)
		}
		if got := len(gjson.GetBytes(res.JSON, "structuredContent.commands").Array()); got != len(harmless) || got == 0 {
			t.Errorf("%s: %d commands in the structured content, of %d", name, got, len(harmless))
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, reads) {
		t.Errorf("found %v\nof %v", found, reads)
	}
	t.Logf("%d tools of %d, %d commands", offered, len(list.Tools), len(found))
}

// TestRealTexts holds the table of texts against those of the real server without a
// network and without a credential.
func TestRealTexts(t *testing.T) {
	c, ctx := real(t, Options{Writes: true})
	call := func(tool, args string) (*adapter.Result, *failure.Failure) {
		raw, err := c.CallTool(ctx, tool, json.RawMessage(args), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res := &adapter.Result{JSON: raw, IsError: gjson.GetBytes(raw, "isError").Bool()}
		res, err = judge(&adapter.Call{Tool: tool, Args: json.RawMessage(args)}, res, "AzureCliCredential")
		return res, failure.Classify(err)
	}
	for _, x := range []struct {
		tool, args string
		class      failure.Class
		says       string
	}{
		{documentation, `{"intent":"x","command":"microsoft_docs_search","parameters":{"query":"keys"}}`, failure.ConnectionRefused, "Connection refused (127.0.0.1:1)"},
		{"pricing", `{"intent":"x","command":"pricing_get","parameters":{"sku":"Standard_D2s_v5"}}`, failure.ConnectionRefused, "Connection refused (127.0.0.1:1)"},
		{"subscription_list", `{}`, failure.AuthFailure, "run az login"},
		{"storage", `{"intent":"x","command":"storage_account_get"}`, failure.InvalidArguments, "--subscription; name one"},
		{"group_list", `{}`, failure.InvalidArguments, "--subscription; name one"},
		{"storage", `{"intent":"x","command":"nope"}`, failure.InvalidArguments, "storage_account_get"},
		{"keyvault", `{"intent":"x","command":"keyvault_secret_get","parameters":{"subscription":"x","vault":"v","secret":"s"}}`, failure.ConsentRequired, "secrets"},
		{"nosuch", `{}`, failure.NotFound, "nosuch"},
	} {
		res, f := call(x.tool, x.args)
		if f == nil {
			t.Errorf("%s %s: %.300s", x.tool, x.args, res.JSON)
		} else if f.Class != x.class || !strings.Contains(f.Message, x.says) || strings.Contains(f.Message, "\n") || len(f.UpstreamData) == 0 {
			t.Errorf("%s %s: %s, %q; want %s, %q", x.tool, x.args, f.Class, f.Message, x.class, x.says)
		}
	}
	// What needs neither works.
	res, f := call("get_azure_bestpractices", `{"intent":"x","command":"get_azure_bestpractices_get","parameters":{"resource":"general","action":"all"}}`)
	if f != nil || gjson.GetBytes(res.JSON, "structuredContent.status").Int() != 200 || len(gjson.GetBytes(res.JSON, "structuredContent.results").Array()) == 0 {
		t.Errorf("best practices: %v", f)
	}
	if n := c.Stats().JunkLines; n != 0 {
		t.Errorf("%d lines of prose on stdout: a pinned credential does not ask for a display", n)
	}
}

// TestRealHeadless: with its own chain of credentials the server looks for a display,
// and says on stdout that there is none. The connection outlives that.
func TestRealHeadless(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	c, ctx := real(t, Options{Credential: chain})
	raw, err := c.CallTool(ctx, "subscription_list", json.RawMessage(`{}`), mcp.RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = judge(&adapter.Call{Tool: "subscription_list"}, &adapter.Result{JSON: raw, IsError: true}, chain)
	if f := failure.Classify(err); f == nil || f.Class != failure.AuthFailure || !strings.Contains(f.Message, "none of its credentials works") || strings.Contains(f.Message, "/") {
		t.Errorf("%v", err)
	}
	if n := c.Stats().JunkLines; n != 1 {
		t.Errorf("%d lines of prose on stdout, want the one on the display", n)
	}
	if _, err = c.ReadTools(ctx); err != nil {
		t.Errorf("after that line: %v", err)
	}
}
