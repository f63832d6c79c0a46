package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A client that has connected can be asked and told things: servers drop what they
// have to say before there is a stream for it. One that opens it never holds up
// nobody.
func TestStreamIsOpenAfterDial(t *testing.T) {
	for _, never := range []bool{false, true} {
		t.Run(fmt.Sprintf("never=%v", never), func(t *testing.T) {
			var open atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch r.Method {
				case http.MethodGet:
					if !never {
						time.Sleep(openWait / 10) // a busy server
						rw.Header().Set("Content-Type", "text/event-stream")
						open.Store(true)
						rw.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				case http.MethodPost:
					var m struct {
						ID     json.RawMessage
						Method string
					}
					_ = json.NewDecoder(r.Body).Decode(&m)
					if m.ID == nil {
						rw.WriteHeader(http.StatusAccepted)
						return
					}
					rw.Header().Set("Content-Type", "application/json")
					answer := `"error":{"code":-32601,"message":"Method not found"}`
					switch m.Method {
					case "initialize":
						answer = `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"n","version":"1"},"capabilities":{}}`
					case "tools/call":
						answer = fmt.Sprintf(`"result":{"open":%v}`, open.Load())
					}
					_, _ = io.Copy(rw, strings.NewReader(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+`}`))
				}
			}))
			defer server.Close()
			c := dial(t, Endpoint{URL: server.URL}, Options{OnNotification: func(string, json.RawMessage) {}})
			got, err := c.CallTool(within(t), "x", nil, RequestOptions{})
			if want := fmt.Sprintf(`{"open":%v}`, !never); err != nil || string(got) != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
			_ = c.Close(t.Context()) // before the server, which waits for its streams
		})
	}
}

// A modern server that was too slow for the probe, and answers initialize with what
// it speaks, is asked again.
func TestModernServerTooSlowForTheProbe(t *testing.T) {
	var probes atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		answer := `"result":{"protocolVersion":"2026-07-28","serverInfo":{"name":"n","version":"1"},"capabilities":{}}`
		if m.Method == "server/discover" {
			if probes.Add(1) == 1 {
				<-r.Context().Done()
				return
			}
			answer = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}))
	defer server.Close()
	c := dial(t, Endpoint{URL: server.URL}, Options{ProbeTimeout: 20 * time.Millisecond})
	if !c.Server().Modern || probes.Load() != 2 {
		t.Errorf("server %+v after %d probes", c.Server(), probes.Load())
	}
}
