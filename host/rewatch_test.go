//go:build unix

package host_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Who watches a resource goes on watching it when the server's adapter was killed: the
// server is asked again once it is back, for each resource once, and who watches hears
// that it may have changed meanwhile, and of what changes then.
func TestWatchesOutliveAnAdapter(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, "alpha")
	h := open(t, fmt.Sprintf("[host]\nexposure = \"direct\"\n[servers.alpha]\nurl = %q\n", u.url))
	url := endpoint(t, h, host.HTTPOptions{})
	const own, uri = "file:///alpha", "collet:alpha/file:///alpha"
	var news []chan string
	for _, legacy := range []bool{false, true} {
		heard := make(chan string, 100)
		news = append(news, heard)
		c := as(t, url, "none", mcp.Options{SkipProbe: legacy, OnNotification: func(method string, params json.RawMessage) {
			if method == "notifications/resources/updated" {
				heard <- gjson.GetBytes(params, "uri").String()
			}
		}})
		if _, err := c.ListTools(patient(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Request(patient(t), "resources/subscribe", json.RawMessage(`{"uri":"`+uri+`"}`), mcp.RequestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watches := func() int {
		u.mu.Lock()
		defer u.mu.Unlock()
		if slices.ContainsFunc(u.watches, func(w string) bool { return w != own }) {
			t.Errorf("watched: %q", u.watches)
		}
		return len(u.watches)
	}
	expect := func(when string) {
		t.Helper()
		for i, heard := range news {
			select {
			case got := <-heard:
				if got != uri {
					t.Errorf("%s: client %d hears of %q", when, i, got)
				}
			case <-patient(t).Done():
				t.Fatalf("%s: client %d hears nothing", when, i)
			}
		}
	}
	u.changed(own)
	expect("before")
	before := watches()
	if before != 1 {
		t.Errorf("two clients watch, and the server was asked %d times", before)
	}
	if err := syscall.Kill(pidOf(t, h, "alpha"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	expect("after the kill") // it comes back by itself
	if n := watches(); n != before+1 {
		t.Errorf("the server was asked %d times again", n-before)
	}
	u.changed(own)
	expect("afterwards")
}
