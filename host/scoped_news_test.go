package host_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// News of a server reach those who may know of it: a narrow credential cannot watch
// what is beta's, and hears nothing that beta announces.
func TestNarrowCredentialsHearOfTheirs(t *testing.T) {
	t.Parallel()
	url, alpha, beta, _ := twoServers(t)
	for _, legacy := range []bool{false, true} {
		heard := map[string]chan string{wideToken: make(chan string, 100), narrowToken: make(chan string, 100)}
		clients := map[string]*mcp.Client{}
		for token, news := range heard {
			c := as(t, url, token, mcp.Options{SkipProbe: legacy, OnNotification: func(method string, params json.RawMessage) {
				if method != "notifications/tools/list_changed" {
					news <- method + gjson.GetBytes(params, "uri").String()
				}
			}})
			if _, err := c.ListTools(patient(t)); err != nil {
				t.Fatal(err)
			}
			clients[token] = c
		}
		watch := func(token, uri string) error {
			_, err := clients[token].Request(patient(t), "resources/subscribe", json.RawMessage(`{"uri":"`+uri+`"}`), mcp.RequestOptions{})
			return err
		}
		of, none := watch(narrowToken, "collet:beta/file:///beta"), watch(narrowToken, "collet:zeta/file:///beta")
		if of == nil || none == nil || codeOf(of) != codeOf(none) || strings.ReplaceAll(none.Error(), "zeta", "beta") != of.Error() {
			t.Errorf("legacy %v: watching beta's: %v; what there is not: %v", legacy, of, none)
		}
		for token, uri := range map[string]string{wideToken: "collet:beta/file:///beta", narrowToken: "collet:alpha/file:///alpha"} {
			if err := watch(token, uri); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(token, want string) {
			t.Helper()
			select {
			case got := <-heard[token]:
				if got != want {
					t.Errorf("legacy %v: %s hears %s, want %s", legacy, token, got, want)
				}
			case <-patient(t).Done():
				t.Fatalf("legacy %v: %s does not hear %s", legacy, token, want)
			}
		}
		// What is beta's comes first, so that narrow would have heard it before its own.
		beta.changed("file:///beta")
		expect(wideToken, "notifications/resources/updatedcollet:beta/file:///beta")
		beta.wire.Notify("notifications/prompts/list_changed", nil, nil)
		expect(wideToken, "notifications/prompts/list_changed")
		alpha.changed("file:///alpha")
		expect(narrowToken, "notifications/resources/updatedcollet:alpha/file:///alpha")
	}
}

// Rights that are taken away count with the next request of a session that was opened
// before.
func TestRightsAreTakenAway(t *testing.T) {
	t.Parallel()
	alpha, beta := newUpstream(t, "alpha"), newUpstream(t, "beta")
	h := open(t, fmt.Sprintf("[host]\nexposure = \"direct\"\n[servers.alpha]\nurl = %q\n[servers.beta]\nurl = %q\n", alpha.url, beta.url))
	file := filepath.Join(t.TempDir(), "tokens.toml")
	grant := func(servers string) {
		t.Helper()
		text := fmt.Sprintf("[tokens.a]\nsha256 = \"%x\"\nservers = [%s]\n", sha256.Sum256([]byte(wideToken)), servers)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	grant(`"alpha", "beta"`)
	url := endpoint(t, h, host.HTTPOptions{ScopedTokenFile: file, SSE: true})
	c := as(t, url, wideToken, mcp.Options{SkipProbe: true})
	list := func() string {
		raw, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := list(); !strings.Contains(got, "open_beta") {
		t.Errorf("before: %s", got)
	}
	grant(`"alpha"`)
	if got := list(); strings.Contains(got, "beta") || !strings.Contains(got, "open_alpha") {
		t.Errorf("afterwards: %s", got)
	}
	if raw, err := c.CallTool(patient(t), "beta__open_beta", nil, mcp.RequestOptions{}); codeOf(err) != -32602 {
		t.Errorf("it may still call: %s %v", raw, err)
	}
	if _, err := c.Request(patient(t), "resources/subscribe", json.RawMessage(`{"uri":"collet:beta/file:///beta"}`), mcp.RequestOptions{}); codeOf(err) != -32002 {
		t.Errorf("it may still watch: %v", err)
	}
}
