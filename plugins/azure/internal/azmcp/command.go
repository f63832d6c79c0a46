package azmcp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/collet-dev/collet/sdk/mcp"
)

const npx = "npx"

// command is the process to start. It sees what this one sees, less what is between
// collet and its plugins.
func (o Options) command(data string) mcp.Command {
	cmd := mcp.Command{Path: "azmcp", Env: o.environment(data)}
	switch {
	case len(o.Command) > 0:
		cmd.Path, cmd.Args = native(o.Command[0]), o.Command[1:]
	default:
		if path, err := mcp.LookPath(cmd); err == nil {
			cmd.Path = native(path)
		} else {
			cmd.Path, cmd.Args = npx, []string{"-y", pinned}
		}
	}
	cmd.Args = append(cmd.Args[:len(cmd.Args):len(cmd.Args)], o.arguments()...)
	return cmd
}

func (o Options) arguments() []string {
	args := []string{"server", "start", "--mode", "namespace"}
	if !o.Writes {
		args = append(args, "--read-only")
	}
	for _, n := range o.Namespaces {
		args = append(args, "--namespace", n)
	}
	if o.Cloud != "" {
		args = append(args, "--cloud", o.Cloud)
	}
	return args
}

func (o Options) environment(data string) []string {
	// Offline, npx is to say so at once; what it has, it need not look for again.
	env := []string{"npm_config_fetch_retries=1", "npm_config_fetch_retry_mintimeout=1000", "npm_config_prefer_offline=true",
		"npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "COLLET_") && !strings.HasPrefix(entry, "PLUGIN_") && !strings.HasPrefix(entry, "AZURE_TOKEN_CREDENTIALS=") {
			env = append(env, entry)
		}
	}
	// The last value of a variable counts.
	set := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	set("AZURE_MCP_COLLECT_TELEMETRY", "false")
	set("OTEL_SDK_DISABLED", "true")
	set("AZURE_TENANT_ID", o.Tenant)
	set("AZURE_SUBSCRIPTION_ID", o.Subscription)
	if c := o.credential(); c != chain {
		set("AZURE_TOKEN_CREDENTIALS", c)
	}
	if data != "" && os.Getenv("DOTNET_BUNDLE_EXTRACT_BASE_DIR") == "" && !writableHome() {
		set("DOTNET_BUNDLE_EXTRACT_BASE_DIR", filepath.Join(data, "net"))
	}
	return env
}

// writableHome says whether the server, one file that unpacks itself, can do so in
// the home directory.
func writableHome() bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	f, err := os.CreateTemp(home, ".azmcp-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// native is the program behind npm's azmcp, a script for node that only starts it:
// without node there are two processes and 100 MB less. Any other path is returned
// as it is.
func native(path string) string {
	script, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	dir := filepath.Dir(script) // .../node_modules/@azure/mcp
	if filepath.Base(script) != "index.js" || filepath.Base(dir) != "mcp" || filepath.Base(filepath.Dir(dir)) != "@azure" {
		return path
	}
	platform, program := platformPackage(runtime.GOOS, runtime.GOARCH)
	for _, modules := range []string{filepath.Join(dir, "node_modules", "@azure"), filepath.Dir(dir)} {
		candidate := filepath.Join(modules, platform, "dist", program)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return candidate
		}
	}
	return path
}

// platformPackage is the package of a system, in npm's words, and its program.
func platformPackage(goos, goarch string) (name, program string) {
	program = "azmcp"
	if goos == "windows" {
		goos, program = "win32", "azmcp.exe"
	}
	if goarch == "amd64" {
		goarch = "x64"
	}
	return "mcp-" + goos + "-" + goarch, program
}
