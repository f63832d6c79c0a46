package mcp

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
)

func init() {
	// net/http reads the environment once, so each case is a process of its own.
	peers["dialer"] = func() {
		ctx := context.Background()
		c, err := Dial(ctx, Endpoint{URL: os.Getenv("MCP_TEST_URL")}, Options{})
		if err != nil {
			fmt.Print(err)
			return
		}
		defer c.Close(ctx)
		raw, err := c.CallTool(ctx, "x", nil, RequestOptions{})
		fmt.Print(string(raw), err)
	}
}

// Proxies are those of the environment.
func TestProxyOfEnvironment(t *testing.T) {
	proxy := listenOn(t, modernServer(func(w http.ResponseWriter, r *http.Request, e envelope) {
		answerWith(w, e.id, `{"for":"`+r.URL.String()+`"}`)
	}))
	for _, test := range []struct{ env, want string }{
		{"HTTP_PROXY=" + proxy.URL, `{"for":"http://mcp.invalid/a?b=c"}<nil>`},
		{"http_proxy=" + proxy.URL, `{"for":"http://mcp.invalid/a?b=c"}<nil>`},
	} {
		peer := self(t, "dialer")
		cmd := exec.CommandContext(within(t), peer.Path)
		cmd.Env = append(peer.Env, "MCP_TEST_URL=http://mcp.invalid/a?b=c", test.env)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != test.want {
			t.Errorf("%s: %s, %v; want %s", test.env, out, err, test.want)
		}
	}
}
