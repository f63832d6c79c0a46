package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// shelf is a host with servers of many tools.
type shelf struct {
	inquirer
	servers []Server
}

func (h shelf) Servers() []Server { return h.servers }

func newShelf(tools int, names ...string) shelf {
	var h shelf
	for _, n := range names {
		s := Server{Name: n}
		for i := range tools {
			t := &catalog.Tool{Server: n, Name: fmt.Sprintf("read_%02d", i), Definition: json.RawMessage(`{}`)}
			s.Tools = append(s.Tools, Tool{Tool: t, Wire: n + "__" + t.Name, Exposure: exposure.Deferred})
		}
		h.servers = append(h.servers, s)
	}
	return h
}

// only is a principal who may use one server.
type only struct{ server string }

func (o *only) AllowsServer(server string) bool { return server == o.server }
func (o *only) Exposure(server, _ string, e exposure.Exposure) exposure.Exposure {
	if server == o.server {
		return e
	}
	return exposure.Hidden
}

func lookUp(t *testing.T, f *Front, who any, arguments string) gjson.Result {
	t.Helper()
	raw, err := f.search(context.Background(), &protocol.Incoming{Caller: &protocol.Caller{Principal: who}}, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return gjson.GetBytes(raw, "structuredContent")
}

func TestSearchLimit(t *testing.T) {
	f := New(newShelf(70, "files"))
	defer f.Close()
	for limit, want := range map[string]int{
		"": 5, `,"limit":null`: 5, `,"limit":1`: 1, `,"limit":3.0`: 3, `,"limit":50`: 50, `,"limit":51`: 50, `,"limit":1e300`: 50,
		`,"limit":0`: -1, `,"limit":-1`: -1, `,"limit":1.5`: -1, `,"limit":"3"`: -1, `,"limit":[]`: -1, `,"limit":true`: -1,
	} {
		got := lookUp(t, f, nil, `{"query":"read"`+limit+`}`)
		if want < 0 {
			if got.Get("error.code").String() != "invalid-arguments" {
				t.Errorf("limit %q: %s", limit, got)
			}
			continue
		}
		if n := len(got.Get("tools").Array()); n != want || got.Get("total").Int() != 70 {
			t.Errorf("limit %q: %d tools, want %d; total %s", limit, n, want, got.Get("total"))
		}
	}
}

// That a server is not there is no search without hits.
func TestSearchOfNoServer(t *testing.T) {
	f := New(newShelf(3, "my-files", "mail"))
	defer f.Close()
	for server, want := range map[string]string{
		"my-files": "", "My_Files": "", "mail": "",
		"mial":   "no server is called mial; did you mean mail? Without server all",
		"nobody": "no server is called nobody; search without server",
	} {
		got := lookUp(t, f, nil, `{"query":"read","server":"`+server+`"}`)
		if want == "" && got.Get("total").Int() != 3 || want != "" && (got.Get("error.code").String() != "not-found" || !strings.HasPrefix(got.Get("error.message").String(), want)) {
			t.Errorf("%s: %s", server, got)
		}
	}
	if got := lookUp(t, f, &only{"mail"}, `{"query":"read","server":"my-files"}`); !strings.HasPrefix(got.Get("error.message").String(), "no server is called my-files; search") {
		t.Errorf("whoever may not know of it: %s", got)
	}
}

// Who may know of a part only finds nothing else, and takes nothing from the search
// of others at the same time.
func TestSearchOfPrincipalsAtOnce(t *testing.T) {
	f := New(newShelf(10, "a", "b", "c"))
	defer f.Close()
	t.Run("all", func(t *testing.T) {
		for _, who := range []struct {
			principal any
			total     int64
		}{{nil, 30}, {&only{"a"}, 10}, {&only{"b"}, 10}, {&only{"nothing"}, 0}} {
			t.Run(fmt.Sprint(who.principal), func(t *testing.T) {
				t.Parallel()
				for range 200 {
					got := lookUp(t, f, who.principal, `{"query":"read","limit":50}`)
					if total := got.Get("total").Int(); total != who.total || len(got.Get("tools").Array()) != int(who.total) {
						t.Fatalf("it finds %d, want %d: %s", total, who.total, got)
					}
				}
			})
		}
	})
}
