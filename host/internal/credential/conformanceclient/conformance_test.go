package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// patient bounds a run of the suite, which takes seconds; its own limit is 30 s
// for each scenario, all of them side by side.
const patient = 2 * time.Minute

// oldestNode is the major version that the suite needs (fs.globSync).
const oldestNode = 22

// beyond are the scenarios of extensions that collet has not: the suite runs them
// with everything else and scores none of them.
var beyond = []string{
	"auth/client-credentials-jwt",           // a key instead of a secret (RFC 7523)
	"auth/enterprise-managed-authorization", // tokens of a company's identity provider
	"auth/dpop", "auth/dpop-nonce",          // tokens bound to a key (RFC 9449)
	"auth/wif-jwt-bearer", // tokens of a workload's platform
}

// TestConformance puts this program through everything that the suite requires of
// a client, by the two revisions collet speaks for, the last of each era, and what
// it has of an older one. Nothing is expected to fail but what is beyond.
func TestConformance(t *testing.T) {
	suite := suite(t)
	client := filepath.Join(t.TempDir(), "conformanceclient")
	if runtime.GOOS == "windows" {
		client += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", client, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, test := range []struct {
		name string
		args []string
		must []string // some of what runs, so that a run of nothing is no pass
		many int      // how many scenarios pass at least
	}{
		{"2026-07-28", []string{"--requirements", "2026-07-28"}, []string{
			"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers",
			"http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
			"auth/metadata-default", "auth/basic-cimd", "auth/scope-step-up", "auth/resource-mismatch",
			"auth/authorization-server-migration", "auth/iss-wrong-issuer", "auth/client-credentials-basic",
		}, 34},
		{"2025-11-25", []string{"--requirements", "2025-11-25"}, []string{
			"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation",
			"auth/metadata-default", "auth/pre-registration",
		}, 20},
		{"2025-03-26", []string{"--suite", "backcompat"}, []string{
			"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback",
		}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patient)
			defer cancel()
			results := t.TempDir()
			cmd := exec.CommandContext(ctx, "node", append([]string{suite, "client", "--command", client, "--output-dir", results}, test.args...)...)
			out, err := cmd.CombinedOutput()
			_, summary, found := strings.Cut(string(out), "=== SUITE SUMMARY ===")
			if err != nil || !found {
				t.Fatalf("%v\n%s\n%s", err, out, faults(t, results))
			}
			t.Log(summary)
			summary, _, _ = strings.Cut(summary, "Total: ")
			if n := strings.Count(summary, "✓ "); n < test.many {
				t.Errorf("%d scenarios passed, want %d:\n%s", n, test.many, out)
			}
			for _, scenario := range test.must {
				if !strings.Contains(summary, "✓ "+scenario+": ") {
					t.Errorf("%s did not pass:\n%s", scenario, out)
				}
			}
			// The suite does not score what was added after a revision; here it counts.
			for line := range strings.Lines(summary) {
				failed, is := strings.CutPrefix(strings.TrimSpace(line), "✗ ")
				scenario, _, _ := strings.Cut(failed, ":")
				if is && !slices.Contains(beyond, scenario) {
					t.Errorf("%s failed:\n%s", scenario, faults(t, results))
				}
			}
		})
	}
}

// faults are the checks that failed, which the suite only writes to files.
func faults(t *testing.T, results string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Error(err)
	}
	var b strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		gjson.ParseBytes(raw).ForEach(func(_, check gjson.Result) bool {
			if status := check.Get("status").String(); status == "FAILURE" || status == "WARNING" {
				fmt.Fprintf(&b, "%s: %s: %s %s\n", filepath.Base(filepath.Dir(file)), check.Get("id"), check.Get("errorMessage"), check.Get("details"))
			}
			return true
		})
	}
	return b.String()
}

// suite is the suite's program, which `make conformance` installs and runs. Where
// COLLET_CONFORMANCE_DIR says that it is there, it must be, and run.
func suite(t *testing.T) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_CONFORMANCE_DIR")
	if !must {
		dir = filepath.Join("..", "..", "..", "..", ".cache", "conformance")
	}
	missing := t.Skipf
	if must {
		missing = t.Fatalf
	}
	path, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		missing("no conformance suite, run make conformance: %v", err)
	}
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		missing("no node, run make conformance: %v", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		missing("node %s is too old for the conformance suite, run make conformance", bytes.TrimSpace(version))
	}
	return path
}

// Every scenario the suite may name has a part, or says so.
func TestUnknownScenario(t *testing.T) {
	err := run(t.Context(), "http://127.0.0.1:1", "no-such-scenario", nil)
	if err == nil || !strings.Contains(err.Error(), "no part") {
		t.Errorf("error %v", err)
	}
}
