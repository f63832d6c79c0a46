package host_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/collet-dev/collet/sdk/mcp"
)

// collet serve --http as it ships: who has no token learns nothing, and who has one
// is served over both transports.
func TestServeHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, tokens := filepath.Join(dir, "mcp.toml"), filepath.Join(dir, "tokens")
	const token = "a-token-of-this-test-that-is-long-enough"
	for file, text := range map[string]string{
		config: "[servers.n]\ncommand = \"" + filepath.Join(built, "faultserver") + "\"\nexposure = \"direct\"\ntool_exposure = {\"s_*\" = \"codemode\"}\n",
		tokens: token + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(patient(t), colletProgram(t), "--config", config, "serve", "--http", "127.0.0.1:0", "--sse", "--token-file", tokens)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	base := ""
	for base == "" && lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "serving "); ok {
			base = strings.TrimSuffix(strings.TrimSpace(url), "/mcp")
		}
	}
	if base == "" {
		t.Fatal("it says nowhere where it serves")
	}
	defer func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		for lines.Scan() {
			t.Log(lines.Text())
		}
		_ = cmd.Wait() // an interrupted command has a status of its own
	}()

	for path, want := range map[string]int{"/healthz": 200, "/mcp": 401, "/sse": 401, "/mcp/message": 401, "/else": 401} {
		res, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("GET %s without a token: %s, want %d", path, res.Status, want)
		}
	}
	for _, bad := range []string{"", "Bearer wrong-token-of-this-test-that-is-long"} {
		_, err := mcp.Dial(patient(t), mcp.Endpoint{URL: base + "/mcp", Header: http.Header{"Authorization": {bad}}}, mcp.Options{})
		if err == nil {
			t.Errorf("%q is let in", bad)
		}
	}
	for _, path := range []string{"/mcp", "/sse"} {
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: base + path, Header: http.Header{"Authorization": {"Bearer " + token}}}, mcp.Options{})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if raw, err := c.CallTool(patient(t), "n__echo", []byte(`{"text":"x"}`), mcp.RequestOptions{}); err != nil || !strings.Contains(string(raw), `"x"`) {
			t.Errorf("%s: %s %v", path, raw, err)
		}
		gives(t, c, `return [await tools.n.s_read(), await tools.n.echo({text: "y"})]`, `["0","y"]`)
		c.Close(context.WithoutCancel(t.Context()))
	}
	res, err := http.Get(base + "/readyz") // by now
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("/readyz: %s", res.Status)
	}
}

func TestServeRefusesToBeOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp.toml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"--http :0", "loopback interface only"},
		{"--http 0.0.0.0:0", "loopback interface only"},
		{"--sse", "--sse needs --http"},
		{"--http 127.0.0.1:0 --stdio", "exclude each other"},
		{"--http 127.0.0.1:0 --issuer https://example.com", "--issuer and --audience need each other"},
		{"--http 127.0.0.1:0 --token-file " + file + ".none", "no such file"},
	} {
		out, err := exec.CommandContext(patient(t), colletProgram(t), append([]string{"--config", file, "serve"}, strings.Fields(c.args)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) {
			t.Errorf("serve %s: %v %s", c.args, err, out)
		}
	}
}

// A service manager stops what serves with SIGTERM, a person with Ctrl-C: it ends as
// it should, whichever face it has.
func TestServeIsStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.toml")
	text := "[servers.good]\ncommand = \"" + filepath.Join(built, "faultserver") + "\"\n[servers.bad]\nplugin = \"nobody\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		for _, face := range [][]string{{"--stdio"}, {"--http", "127.0.0.1:0"}} {
			t.Run(sig.String()+" "+face[0], func(t *testing.T) {
				cmd := exec.CommandContext(patient(t), colletProgram(t), append([]string{"--config", config, "serve"}, face...)...)
				cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
				in, err := cmd.StdinPipe() // held open: its end would be the end, too
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				stderr, err := cmd.StderrPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				told := ""
				for lines := bufio.NewScanner(stderr); lines.Scan(); {
					told += lines.Text() + "\n"
					if strings.Contains(lines.Text(), "bad did not start: ") {
						if err := cmd.Process.Signal(sig); err != nil {
							t.Error(err)
						}
					}
				}
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v", err)
				}
				if strings.Count(told, "bad did not start") != 1 || strings.Contains(told, "good") {
					t.Errorf("told:\n%s", told)
				}
			})
		}
	}
}

// What is being answered when collet is stopped comes to its end, over stdio too.
func TestServeStdioFinishesWhatItAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "mcp.toml")
	text := "[servers.n]\ncommand = \"" + filepath.Join(built, "faultserver") + "\"\nexposure = \"direct\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(patient(t), colletProgram(t), "--config", config, "serve")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n__t_progress","arguments":{"ms":300,"step":50},"_meta":{"progressToken":"p"}}}`,
	} {
		if _, err := in.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	stopped, answered := false, false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "notifications/progress") && !stopped {
			stopped = true
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
		answered = answered || strings.Contains(lines.Text(), `"id":2,"result"`)
	}
	if err := cmd.Wait(); err != nil || !stopped || !answered {
		t.Errorf("%v, stopped %v, answered %v", err, stopped, answered)
	}
}
