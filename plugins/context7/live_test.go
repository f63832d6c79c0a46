package main

import (
	"os"
	"testing"
)

// TestLive asks the real Context7, anonymously or with CONTEXT7_API_KEY.
func TestLive(t *testing.T) {
	if os.Getenv("COLLET_LIVE_TESTS") != "1" {
		t.Skip("asks the real Context7 only with COLLET_LIVE_TESTS=1")
	}
	p := start(t)
	if err := p.configure(t, config{CacheTTL: "0s", APIKey: os.Getenv("CONTEXT7_API_KEY")}); err != nil {
		t.Fatal(err)
	}
	got, err := p.call(t, "lookup", `{"library":"react","query":"clean up in useEffect"}`)
	if s := got.Get("structuredContent"); err != nil || !s.Get("available").Bool() || len(s.Get("code").Array())+len(s.Get("info").Array()) == 0 {
		t.Errorf("lookup: %s, %v", got.Raw, err)
	}
	got, err = p.call(t, "lookup", `{"library":"no-such-library-7f3a","query":"anything"}`)
	t.Logf("a library there is none of: %s, %v", got.Raw, err)
}
