package main

import (
	"os"
	"testing"

	"github.com/collet-dev/collet/plugins/azure/internal/azmcp"
	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// live is the plugin with its defaults, and with the credentials that there are.
func live(t *testing.T) *plugin {
	t.Helper()
	if os.Getenv("COLLET_LIVE_TESTS") != "1" {
		t.Skip("asks the real Microsoft Learn and Azure only with COLLET_LIVE_TESTS=1")
	}
	p := &plugin{adaptertest.Start(t, launch.Spec{Path: pluginPath, Env: launch.ShortEnv(os.Environ(), azmcp.Environment()...)})}
	if err := p.configure(t, config{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLiveLearn asks the real Microsoft Learn.
func TestLiveLearn(t *testing.T) {
	p := live(t)
	got, err := p.call(t, "documentation", `{"query":"rotate keys of a storage account","language":"azurecli"}`)
	s := got.Get("structuredContent")
	if err != nil || len(s.Get("results").Array()) == 0 || len(s.Get("samples").Array()) == 0 {
		t.Fatalf("got %s, %v", got.Raw, err)
	}
	got, err = p.call(t, "microsoft_docs_fetch", `{"url":"`+s.Get("results.0.contentUrl").Str+`"}`)
	if err != nil || got.Get("content.0.text").Str == "" {
		t.Errorf("the page of the first result: %.300s, %v", got.Raw, err)
	}
}

// TestLiveAzure starts the real Azure MCP server, by npx where it is not installed. Prices
// are there for everybody; subscriptions want somebody who is signed in, and without
// anybody the failure has to say so.
func TestLiveAzure(t *testing.T) {
	p := live(t)
	got, err := p.call(t, "pricing", `{"intent":"prices","command":"pricing_get","parameters":{"sku":"Standard_D2s_v5","region":"westeurope"}}`)
	if err != nil || got.Get("structuredContent.status").Int() != 200 || !got.Get("structuredContent.results").Exists() {
		t.Errorf("pricing: %.500s, %v", got.Raw, err)
	}
	got, err = p.call(t, "subscription_list", `{}`)
	switch f := failure.Classify(err); {
	case f != nil && f.Class != failure.AuthFailure:
		t.Errorf("subscriptions: %v", f)
	case f != nil:
		t.Logf("nobody is signed in: %v", f)
	case !got.Get("structuredContent.results.subscriptions").IsArray():
		t.Errorf("subscriptions: %.500s", got.Raw)
	}
}
