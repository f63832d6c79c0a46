package adapter_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

func TestStartedByHand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	cmd := hello(t)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("exit %v, want status 1", err)
	}
	if stdout.Len() != 0 {
		t.Errorf("stdout: %q, want nothing", &stdout)
	}
	for _, want := range []string{"collet-plugin-hello", "mcp.toml", "[servers.hello]", "describe"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr does not say %q: %s", want, &stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	cmd := hello(t)
	cmd.Args = append(cmd.Args, "-version")
	if out, err := cmd.Output(); err != nil || string(out) != "hello 0.1.0\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDescribeEqualsRPC(t *testing.T) {
	cmd := hello(t)
	cmd.Args, cmd.Env = append(cmd.Args, "describe"), []string{} // no cookie, no network settings, nothing
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got describe.Description
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	c, _, _ := dialStock(t, hello(t))
	r, err := c.Describe(t.Context(), &adapterpb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, got.ConfigSchema); err != nil {
		t.Fatal(err)
	}
	got.ConfigSchema = compact.Bytes()
	want := describe.Description{
		Name: r.Name, Version: r.Version, SDKVersion: r.SdkVersion, Summary: r.Summary, Homepage: r.Homepage, License: r.License,
		ConfigSchema: r.ConfigSchema, Features: r.Features, ForwardMethods: r.ForwardMethods, Environment: r.Environment,
		MCPVersions: r.McpVersions, DefaultTimeout: r.DefaultTimeout.AsDuration(), DefaultStartTimeout: r.DefaultStartTimeout.AsDuration(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("describe %+v\nRPC      %+v", got, want)
	}
	if want.Name != "hello" || !strings.Contains(string(want.ConfigSchema), `"greeting"`) {
		t.Errorf("description %+v", want)
	}
}

// raw is the faulty plugin as a bare process with a lease.
type raw struct {
	cmd    *exec.Cmd
	lease  io.WriteCloser
	out    *bufio.Reader
	stderr *lockedBuffer
}

func startRaw(t *testing.T) raw {
	t.Helper()
	r := raw{cmd: faulty(t), stderr: &lockedBuffer{}}
	r.cmd.Env = append(r.cmd.Env, wire.CookieKey+"="+wire.CookieValue, wire.LeaseEnv+"="+wire.LeaseStdin, plugin.EnvUnixSocketDir+"="+socketDir(t))
	r.cmd.Stderr = r.stderr
	lease, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.lease, r.out = lease, bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	return r
}

// A process prints the handshake and nothing else on stdout, whatever its init
// and main print, and leaves by itself when the lease ends.
func TestOnlyHandshakeOnStdoutAndLease(t *testing.T) {
	r := startRaw(t)
	line, err := r.out.ReadString('\n')
	if err != nil || !regexp.MustCompile(`^1\|1\|(unix|tcp)\|[^|]+\|grpc\|`).MatchString(line) {
		t.Fatalf("first line %q, %v; stderr %s", line, err, r.stderr)
	}
	if err := r.lease.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r.out)
	if err != nil || len(rest) != 0 {
		t.Errorf("then stdout holds %q, %v", rest, err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit after the lease ended: %v", err)
	}
	for _, want := range []string{"init prints to stdout", "main prints to stdout"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("stderr lost %q: %s", want, r.stderr)
		}
	}
}

// leased starts the plugin under the stock client with a lease of our own: the
// client overwrites Stdin when it starts, so a reattach is how both get along.
func leased(t *testing.T) (peer, raw) {
	t.Helper()
	r := startRaw(t)
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v; stderr %s", err, r.stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, r.out) }() // ends with the process
	parts := strings.Split(line, "|")
	return attach(t, plugin.ReattachConfig{
		Protocol: plugin.ProtocolGRPC, ProtocolVersion: 1, Pid: r.cmd.Process.Pid, Addr: address(t, parts[2], parts[3]), Test: true,
	}), r
}

func TestLeaseRunsClose(t *testing.T) {
	c, r := leased(t)
	closed := filepath.Join(t.TempDir(), "closed")
	cfg, _ := json.Marshal(faultyConfig{Closed: closed})
	configure(t, c, string(cfg))
	r.lease.Close()
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if _, err := os.Stat(closed); err != nil {
		t.Errorf("Close did not run: %v; stderr %s", err, r.stderr)
	}
}

func TestHangingCloseDoesNotKeepTheProcess(t *testing.T) {
	c, r := leased(t)
	configure(t, c, `{"hang":true}`)
	start := time.Now()
	r.lease.Close()
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("took %v", took)
	}
	if !strings.Contains(r.stderr.String(), "takes too long") {
		t.Errorf("stderr: %s", r.stderr)
	}
}

func TestShutdownRunsClose(t *testing.T) {
	c, client, stderr := dialStock(t, faulty(t))
	closed := filepath.Join(t.TempDir(), "closed")
	cfg, _ := json.Marshal(faultyConfig{Closed: closed})
	configure(t, c, string(cfg))
	client.Kill()
	if _, err := os.Stat(closed); err != nil {
		t.Errorf("Close did not run: %v; stderr %s", err, stderr)
	}
}

func TestPanicKeepsTheProcess(t *testing.T) {
	c, client, stderr := dialStock(t, faulty(t))
	configure(t, c, `{}`)
	_, err := call(t, c, &adapterpb.CallToolRequest{Tool: "panic"})
	f := failure.FromStatus(err)
	if f == nil || f.Class != failure.ServerError || f.Origin != failure.OriginAdapter || !strings.Contains(f.Message, "as the test asked") {
		t.Errorf("panic: %v", err)
	}
	events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "failed"})
	if err != nil || len(events) != 1 || !events[0].GetResult().GetIsError() {
		t.Fatalf("after the panic: %v, %v", events, err)
	}
	if got := string(events[0].GetResult().GetResult()); got != `{"content":[{"type":"text","text":"no <such> thing"}],"isError":true}` {
		t.Errorf("result %s", got)
	}
	_, err = call(t, c, &adapterpb.CallToolRequest{Tool: "refused"})
	if f := failure.FromStatus(err); f == nil || f.Class != failure.RateLimited || f.Message != "slow down" {
		t.Errorf("a failure came out as %v", err)
	}
	client.Kill() // and with it the end of the log
	if !strings.Contains(stderr.String(), "faulty_test.go") {
		t.Errorf("no stack in the log: %s", stderr)
	}
}

func TestCancelReachesTheHandler(t *testing.T) {
	c, _, _ := dialStock(t, faulty(t))
	configure(t, c, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.CallTool(ctx, &adapterpb.CallToolRequest{Tool: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := stream.Recv(); err != nil || ev.GetProgress() == nil {
		t.Fatalf("%v, %v; want progress", ev, err)
	}
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("canceled call ends with %v", err)
	}
	if events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "await-cancel"}); err != nil || len(events) != 1 {
		t.Errorf("the handler did not see the cancel: %v, %v", events, err)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stream, err = c.CallTool(ctx, &adapterpb.CallToolRequest{Tool: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("call past the deadline ends with %v", err)
	}
}

func TestLargeMessages(t *testing.T) {
	const size = 20 << 20
	c, _, _ := dialStock(t, faulty(t))
	configure(t, c, `{}`)
	args, _ := json.Marshal(blob{strings.Repeat("a", size)})
	events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "count", Arguments: args})
	if err != nil || len(events) != 1 {
		t.Fatalf("20 MiB of arguments: %d events, %v", len(events), err)
	}
	const want = `{"content":[{"type":"text","text":"{\"bytes\":20971520}"}],"structuredContent":{"bytes":20971520}}`
	if got := string(events[0].GetResult().GetResult()); got != want {
		t.Errorf("result %s", got)
	}
	events, err = call(t, c, &adapterpb.CallToolRequest{Tool: "fill", Arguments: []byte(`{"bytes":20971520}`)})
	if err != nil || len(events) != 1 || len(events[0].GetResult().GetResult()) < size {
		t.Errorf("20 MiB of result: %d events, %v", len(events), err)
	}
	events, err = call(t, c, &adapterpb.CallToolRequest{Tool: "fill", Arguments: []byte(`{"bytes":70000000}`)})
	if f := failure.FromStatus(err); f == nil || f.Class != failure.InvalidResult || f.Delivery != failure.Answered || len(events) != 0 {
		t.Errorf("a result beyond the limit: %v", err)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	c, _, _ := dialStock(t, hello(t))
	later := protowire.AppendBytes(protowire.AppendTag(nil, 4242, protowire.BytesType), []byte("from the future"))
	cfg := &adapterpb.ConfigureRequest{Config: []byte(`{}`), HostFeatures: []string{"from-the-future"}}
	cfg.ProtoReflect().SetUnknown(later)
	if _, err := c.Configure(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	req := &adapterpb.CallToolRequest{Tool: "greet", Arguments: []byte(`{"name":"a"}`)}
	req.ProtoReflect().SetUnknown(later)
	if events, err := call(t, c, req); err != nil || len(events) != 2 {
		t.Errorf("%v, %v", events, err)
	}
}

// Everything that prints ends up on stderr, in lines the host can read where a
// logger wrote them, and stdin is empty for the author's code.
func TestPrintsAndLogs(t *testing.T) {
	c, r := leased(t)
	configure(t, c, `{}`)
	events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "print"})
	if err != nil || string(events[0].GetResult().GetResult()) != `{"content":[{"type":"text","text":""}]}` {
		t.Fatalf("%v, %v", events, err)
	}
	r.lease.Close()
	_ = r.cmd.Wait()
	found := map[string]map[string]any{}
	for line := range strings.Lines(r.stderr.String()) {
		line = strings.TrimSpace(line)
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) == nil {
			msg, _ := record["@message"].(string)
			found[msg] = record
		} else {
			found[line] = nil
		}
	}
	for _, want := range []string{"stdout print", "stderr print"} {
		if record, ok := found[want]; !ok || record != nil {
			t.Errorf("%q is not on stderr as it is", want)
		}
	}
	for msg, level := range map[string]string{"log print": "info", "slog print": "warn", "env print": "debug"} {
		record := found[msg]
		if record["@level"] != level || record["@module"] != "faulty" || record["@timestamp"] == nil {
			t.Errorf("%q: %v", msg, record)
		}
	}
	if found["slog print"]["n"] != 7.0 || found["env print"]["server"] != "test" {
		t.Errorf("attributes are lost: %v", found)
	}
}

func TestInterruptIsIgnored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt another one there")
	}
	cmd := faulty(t)
	c, _, _ := dialStock(t, cmd)
	configure(t, c, `{}`)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "fill", Arguments: []byte(`{"bytes":1}`)}); err != nil {
		t.Errorf("after an interrupt: %v, %v", events, err)
	}
}

func TestDebugPrintsReattachLine(t *testing.T) {
	cmd := faulty(t, "-debug")
	cmd.Env = append(cmd.Env, plugin.EnvUnixSocketDir+"="+socketDir(t))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	var entries map[string]struct {
		Protocol        string
		ProtocolVersion int
		Pid             int
		Test            bool
		Addr            struct{ Network, String string }
	}
	for entries == nil && lines.Scan() {
		if value, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), wire.ReattachEnv+"='"); ok {
			if err := json.Unmarshal([]byte(strings.TrimSuffix(value, "'")), &entries); err != nil {
				t.Fatalf("%s: %v", value, err)
			}
		}
	}
	e := entries["faulty"]
	if e.Pid != cmd.Process.Pid || e.Protocol != "grpc" || e.ProtocolVersion != wire.ProtocolVersion {
		t.Fatalf("entry %+v", e)
	}
	c := attach(t, plugin.ReattachConfig{
		Protocol: plugin.ProtocolGRPC, ProtocolVersion: e.ProtocolVersion, Pid: e.Pid, Test: true,
		Addr: address(t, e.Addr.Network, e.Addr.String),
	})
	closed := filepath.Join(t.TempDir(), "closed")
	cfg, _ := json.Marshal(faultyConfig{Closed: closed})
	configure(t, c, string(cfg))
	configure(t, c, string(cfg)) // a host that comes back with the same settings
	if runtime.GOOS == "windows" {
		return
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the process is gone
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exit after an interrupt: %v", err)
	}
	if _, err := os.Stat(closed); err != nil {
		t.Errorf("Close did not run: %v", err)
	}
}
