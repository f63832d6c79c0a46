package azmcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// alone clears the variables that decide how to sign in, and the PATH.
func alone(t *testing.T) {
	t.Helper()
	for _, name := range Environment() {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", t.TempDir())
}

func TestCommand(t *testing.T) {
	alone(t)
	cmd := Options{}.command("")
	if cmd.Path != "npx" || strings.Join(cmd.Args, " ") != "-y @azure/mcp@2.0.5 server start --mode namespace --read-only" {
		t.Errorf("%s %q", cmd.Path, cmd.Args)
	}
	cmd = Options{Command: []string{"x", "y"}, Writes: true, Namespaces: []string{"aks", "storage"}, Cloud: "AzureUSGovernment"}.command("")
	if cmd.Path != "x" || strings.Join(cmd.Args, " ") != "y server start --mode namespace --namespace aks --namespace storage --cloud AzureUSGovernment" {
		t.Errorf("%s %q", cmd.Path, cmd.Args)
	}
	if runtime.GOOS == "windows" {
		return // other names of programs
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "azmcp"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if cmd = (Options{}).command(""); cmd.Path != filepath.Join(bin, "azmcp") || cmd.Args[0] != "server" {
		t.Errorf("an installed one: %s %q", cmd.Path, cmd.Args)
	}
}

// What npm installs is a link to a script that starts the program for this system.
func TestNative(t *testing.T) {
	root := t.TempDir()
	platform, program := platformPackage(runtime.GOOS, runtime.GOARCH)
	script := filepath.Join(root, "@azure", "mcp", "index.js")
	for _, file := range []string{script, filepath.Join(root, "@azure", platform, "dist", program), filepath.Join(root, "other", "mcp", "index.js")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "azmcp")
	if err := os.Symlink(script, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, "@azure", platform, "dist", program))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: real, script: real,
		filepath.Join(root, "other", "mcp", "index.js"): filepath.Join(root, "other", "mcp", "index.js"),
		"azmcp": "azmcp", filepath.Join(root, "gone"): filepath.Join(root, "gone"),
	} {
		if got := native(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if name, program := platformPackage("windows", "amd64"); name != "mcp-win32-x64" || program != "azmcp.exe" {
		t.Errorf("%s %s", name, program)
	}
}

func TestEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("COLLET_PLUGIN", "x")
	t.Setenv("AZURE_MCP_COLLECT_TELEMETRY", "true")
	value := func(o Options, name string) string {
		last := ""
		for _, entry := range o.command("/data").Env {
			if n, v, _ := strings.Cut(entry, "="); n == name {
				last = v
			}
		}
		return last
	}
	for name, want := range map[string]string{
		"COLLET_PLUGIN": "", "AZURE_MCP_COLLECT_TELEMETRY": "false", "OTEL_SDK_DISABLED": "true", "AZURE_TOKEN_CREDENTIALS": "AzureCliCredential",
		"AZURE_TENANT_ID": "t", "AZURE_SUBSCRIPTION_ID": "s", "npm_config_prefer_offline": "true",
	} {
		if got := value(Options{Tenant: "t", Subscription: "s"}, name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
	// The server unpacks itself; where the home directory is nobody's, into the adapter's own.
	if got := value(Options{}, "DOTNET_BUNDLE_EXTRACT_BASE_DIR"); got != "" {
		t.Errorf("it unpacks itself to %s", got)
	}
	t.Setenv("HOME", filepath.Join(t.TempDir(), "gone"))
	t.Setenv("USERPROFILE", filepath.Join(t.TempDir(), "gone"))
	if got := value(Options{}, "DOTNET_BUNDLE_EXTRACT_BASE_DIR"); got != filepath.Join("/data", "net") {
		t.Errorf("without a home it unpacks itself to %q", got)
	}
}

func TestCredential(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		env  []string
		want string
	}{
		{want: "AzureCliCredential"},
		{env: []string{"AZURE_CLIENT_ID"}, want: "AzureCliCredential"},
		{env: []string{"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"}, want: "EnvironmentCredential"},
		{env: []string{"AZURE_CLIENT_ID", "AZURE_CLIENT_CERTIFICATE_PATH"}, want: "EnvironmentCredential"},
		{env: []string{"AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"}, want: "WorkloadIdentityCredential"},
		{env: []string{"IDENTITY_ENDPOINT"}, want: "ManagedIdentityCredential"},
		{env: []string{"AZURE_TOKEN_CREDENTIALS", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"}, want: "set"},
		{opt: Options{Credential: "prod"}, env: []string{"AZURE_TOKEN_CREDENTIALS"}, want: "prod"},
	} {
		alone(t)
		for _, name := range c.env {
			t.Setenv(name, "set")
		}
		if got := c.opt.credential(); got != c.want {
			t.Errorf("%v: %s, want %s", c.env, got, c.want)
		}
	}
	alone(t)
	if env := (Options{Credential: chain}).command("").Env; slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "AZURE_TOKEN_CREDENTIALS=") }) {
		t.Error("the chain is pinned")
	}
}

// The server takes any form that comes back for a yes.
func TestConsentIsHonest(t *testing.T) {
	for said, want := range map[string]string{
		`{"action":"accept","content":{"decision":"accept"}}`: `{"action":"accept","content":{"decision":"accept"}}`,
		`{"action":"accept","content":{"decision":"reject"}}`: `{"action":"decline"}`,
		`{"action":"accept"}`: `{"action":"decline"}`,
		`{"action":"cancel"}`: `{"action":"cancel"}`,
	} {
		answer := honest(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(said), nil
		})
		if got, err := answer(t.Context(), "elicitation/create", nil); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", said, got, err)
		}
	}
	if honest(nil) != nil {
		t.Error("an answerer of nothing")
	}
}

func TestUnknown(t *testing.T) {
	for want, o := range map[string]Options{
		"":      {Namespaces: []string{"storage", "get_azure_bestpractices", "communication"}},
		"bogus": {Namespaces: []string{"storage", "bogus"}},
	} {
		if got := o.Unknown(); got != want {
			t.Errorf("%+v: %q", o, got)
		}
	}
	if got := (Options{Command: []string{"x"}, Namespaces: []string{"new"}}).Unknown(); got != "" {
		t.Errorf("%q", got)
	}
}

// The server would have the caller's model pick commands.
func TestNoSampling(t *testing.T) {
	if got := declared(json.RawMessage(`{"elicitation":{"form":{}},"roots":{},"sampling":{}}`)); string(got) != `{"elicitation":{"form":{}}}` {
		t.Errorf("%s", got)
	}
	if got := declared(nil); got != nil {
		t.Errorf("%s of a host that asks nobody", got)
	}
}
