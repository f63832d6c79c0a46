package host_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

// conformanceSuite is the program of the official suite that `make test` installs.
// Where COLLET_CONFORMANCE_DIR says that it is there, it must be.
func conformanceSuite(t *testing.T) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_CONFORMANCE_DIR")
	if !must {
		dir = filepath.Join("..", ".cache", "conformance")
	}
	file, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(file)
	}
	if err == nil {
		var version []byte
		version, err = exec.Command("node", "--version").Output()
		if old := strings.HasPrefix(string(version), "v1") || strings.HasPrefix(string(version), "v20"); err == nil && old {
			err = fmt.Errorf("node %s is too old for it", version)
		}
	}
	if err != nil && !must {
		t.Skipf("no conformance suite, run make conformance: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_CONFORMANCE_DIR names no conformance suite: %v", err)
	}
	return file
}

// guarded serves a host's face at /mcp as collet serve --http does.
func guarded(t *testing.T, h *host.Host) (url string) {
	t.Helper()
	return endpoint(t, h, host.HTTPOptions{}) + "/mcp"
}

// oldFashionedEnv names a server that this program stands in front of.
const oldFashionedEnv = "COLLET_TEST_OLD_FASHIONED"

// beOldFashioned runs a server over stdio without server/discover, as one of the
// initialize era would be. A server of both eras asks nothing by the rules of the
// older one of a host that speaks the newer.
func beOldFashioned(server string) error {
	cmd := exec.Command(server)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // the end
		}
		if gjson.GetBytes(line, "method").String() == "server/discover" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", gjson.GetBytes(line, "id").Raw)
		} else if _, err := in.Write(line); err != nil {
			break
		}
	}
	in.Close()
	return cmd.Wait()
}

// oldFashioned is the same for a server over HTTP with sessions.
func oldFashioned(t *testing.T, addr string) (url string) {
	t.Helper()
	through := httputil.NewSingleHostReverseProxy(&neturl.URL{Scheme: "http", Host: addr})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			http.Error(w, "no such method", http.StatusBadRequest)
			return
		}
		// Else an answer that comes at once closes the request's body, and when the
		// proxy has not seen its end yet, it breaks the answer off.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// failedChecks is what the suite says of the checks that failed, one a line.
func failedChecks(t *testing.T, results string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var failed strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range gjson.GetBytes(text, `#(status=="FAILURE")#`).Array() {
			fmt.Fprintf(&failed, "%s: %.2000s\n", filepath.Base(filepath.Dir(file)), check.Get("@ugly").Raw)
		}
	}
	return failed.String()
}

// TestFrontConformance puts a host with one server, under that server's own names,
// through all that the official suite requires of a server, by the last revision of
// each era. The server is the official Go SDK's, which passes by itself.
func TestFrontConformance(t *testing.T) {
	suite, everything := conformanceSuite(t), goSDKServer(t, "everything-server")
	addr, _ := freeAddr(t)
	startProgram(t, addr, exec.Command(everything, "-http", addr, "-stateless=false")).await()
	older := []string{"server-initialize", "tools-call-elicitation", "tools-call-sampling", "tools-call-with-progress", "tools-call-with-logging", "resources-subscribe", "dns-rebinding-protection"}
	const plain = "[host]\nwire_names = \"plain\"\nexposure = \"direct\"\n[servers.everything]\n"
	for _, test := range []struct {
		revision, over, server string
		passed                 []string // some of what runs, so that a run of nothing is no pass
	}{
		{"2025-11-25", "http", fmt.Sprintf("url = %q", oldFashioned(t, addr)), older},
		{"2025-11-25", "stdio", fmt.Sprintf("command = %q\nenv = { %s = %q }", os.Args[0], oldFashionedEnv, everything), older},
		{"2026-07-28", "stdio", fmt.Sprintf("command = %q", everything),
			[]string{"server-stateless", "tools-call-with-progress", "http-header-validation", "input-required-result-tampered-state", "dns-rebinding-protection"}},
	} {
		t.Run(test.revision+" over "+test.over, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			url := guarded(t, open(t, plain+test.server+"\n"))
			results := t.TempDir()
			out, err := exec.CommandContext(ctx, "node", suite, "server", "--url", url, "--requirements", test.revision, "--output-dir", results).CombinedOutput()
			_, summary, _ := strings.Cut(string(out), "=== SUMMARY ===")
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, summary, failedChecks(t, results))
			}
			t.Log(summary)
			for _, scenario := range test.passed {
				if !strings.Contains(summary, "✓ "+scenario+": ") {
					t.Errorf("%s did not pass", scenario)
				}
			}
		})
	}
}
