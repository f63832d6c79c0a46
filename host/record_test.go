package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// private is what a test's arguments hold, and no record may.
const private = "correct-horse-battery-staple"

// records reads an audit log and returns what is left of each line without what
// differs from run to run.
func records(t *testing.T, file string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
		r := gjson.Parse(line)
		if !r.Get("time").Exists() || r.Get("event").String() != "denial" && (len(r.Get("id").String()) < 16 || !r.Get("duration_ms").Exists()) {
			t.Errorf("incomplete: %s", line)
		}
		var out []string
		r.ForEach(func(k, v gjson.Result) bool {
			switch k.String() {
			case "time", "id", "duration_ms", "from", "argument_bytes", "result_bytes":
			default:
				out = append(out, k.String()+"="+v.String())
			}
			return true
		})
		lines = append(lines, strings.Join(out, " "))
	}
	return lines
}

// One line for each call, whoever makes it and however it ends; none with what was
// said in it.
func TestAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "audit", "log.jsonl"), filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte(sharedToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, fmt.Sprintf(`
[host.telemetry]
audit = %q
[servers.f]
command = "${BUILT}/faultserver"
exposure = "direct"
env = { SECRET = %q }
[servers.gone]
command = "${BUILT}/no-such-server"
[servers.e]
command = "node"
args = [%q]
`, file, private, npmDir(t)+"/@modelcontextprotocol/server-everything/dist/index.js"))
	url := endpoint(t, h, host.HTTPOptions{TokenFile: tokens})
	arguments := `{"text":"` + private + `"}`

	mustCall(t, h, "f/echo", arguments)
	mustCall(t, h, "f/c_error", arguments)
	mustFail(t, h, host.Request{Tool: "f/none", Arguments: json.RawMessage(arguments), Parent: "p1", Caller: host.Script})
	mustFail(t, h, host.Request{Tool: "nobody/x"})
	mustFail(t, h, host.Request{Tool: "gone/x", Retry: host.RetryNever})
	if _, err := h.Forward(patient(t), host.ForwardRequest{Server: "e", Method: "prompts/get", Params: json.RawMessage(`{"name":"simple-prompt"}`)}); err != nil {
		t.Error(err)
	}
	if _, err := h.Forward(patient(t), host.ForwardRequest{Server: "f", Method: "prompts/get", Params: json.RawMessage(arguments)}); err == nil {
		t.Error("a server without prompts has one")
	}

	for _, token := range []string{"", "a-wrong-token-" + private} {
		if res, _ := exchange(t, "POST", url+"/mcp", pingBody, "Authorization", "Bearer "+token); res.StatusCode/100 != 4 {
			t.Errorf("token %q: %s", token, res.Status)
		}
	}
	c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url + "/mcp", Header: http.Header{"Authorization": {"Bearer " + sharedToken}}}, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(patient(t))
	if _, err := c.CallTool(patient(t), "f__echo", json.RawMessage(arguments), mcp.RequestOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.Request(patient(t), "prompts/get", json.RawMessage(`{"name":"e__simple-prompt"}`), mcp.RequestOptions{}); err != nil {
		t.Error(err)
	}

	want := []string{
		"event=call caller=cli principal=local method=tools/call server=f tool=echo outcome=ok attempts=1",
		"event=call caller=cli principal=local method=tools/call server=f tool=c_error outcome=tool-error attempts=1",
		"event=call parent=p1 caller=script principal=local method=tools/call server=f tool=none outcome=failed class=not-found delivery=not-sent attempts=0",
		"event=call caller=program principal=local method=tools/call server=nobody tool=x outcome=failed class=not-found delivery=not-sent attempts=0",
		"event=call caller=program principal=local method=tools/call server=gone tool=x outcome=failed class=connection-refused delivery=not-sent attempts=0",
		"event=request caller=program principal=local method=prompts/get server=e outcome=ok attempts=1",
		"event=request caller=program principal=local method=prompts/get server=f outcome=failed class=not-found delivery=not-sent attempts=1",
		"event=denial method=POST outcome=denied reason=malformed status=400 path=/mcp",
		"event=denial method=POST outcome=denied reason=unknown_token status=401 path=/mcp",
		"event=call caller=model principal=shared method=tools/call server=f tool=echo outcome=ok attempts=1",
		"event=request caller=model principal=shared method=prompts/get server=e outcome=ok attempts=1",
	}
	got := records(t, file)
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	text, _ := os.ReadFile(file)
	for _, secret := range []string{private, sharedToken} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	if line, _, _ := strings.Cut(string(text), "\n"); gjson.Get(line, "argument_bytes").Int() != int64(len(arguments)) || gjson.Get(line, "result_bytes").Int() < int64(len(private)) {
		t.Errorf("sizes: %s", line)
	}
}

func TestAuditWithArguments(t *testing.T) {
	t.Parallel()
	opt := options(t, "[host.telemetry]\naudit = true\naudit_arguments = true\n[servers.hello]\nplugin = \"hello\"\n")
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	mustCall(t, h, "hello/greet", "{\n \"name\" : \"x\" }")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if got := records(t, filepath.Join(opt.StateDir, "audit.jsonl")); len(got) != 1 || !strings.HasSuffix(got[0], ` attempts=1 arguments={"name":"x"}`) {
		t.Errorf("%q", got)
	}
}

// A log that cannot be written fails no call.
func TestAuditCannotBeWritten(t *testing.T) {
	t.Parallel()
	h := open(t, fmt.Sprintf("[host.telemetry]\naudit = %q\n[servers.hello]\nplugin = \"hello\"\n", t.TempDir()))
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
}

// A script of a model is a line, without what it says, and the parent of its calls.
func TestAuditOfScript(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log.jsonl")
	h := open(t, fmt.Sprintf("[host.telemetry]\naudit = %q\n[servers.n]\ncommand = \"${BUILT}/faultserver\"\n", file))
	c := faceOf(t, h, mcp.Options{})
	gives(t, c, `return await tools.n.echo({text: "`+private+`"})`, `"`+private+`"`)
	script(t, c, `throw new Error("`+private+`")`)
	if err := h.Close(); err != nil { // which writes what is left
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), private) {
		t.Errorf("it has what was said:\n%s", data)
	}
	var lines []gjson.Result
	for line := range strings.Lines(string(data)) {
		lines = append(lines, gjson.Parse(line))
	}
	if len(lines) != 3 || lines[0].Get("parent").String() != lines[1].Get("id").String() || lines[1].Get("parent").Exists() {
		t.Fatalf("%s", data)
	}
	for i, want := range []string{"script n echo ok", "model  codemode ok", "model  codemode tool-error"} {
		r := lines[i]
		if got := strings.Join([]string{r.Get("caller").String(), r.Get("server").String(), r.Get("tool").String(), r.Get("outcome").String()}, " "); got != want {
			t.Errorf("line %d is %s, want %s", i, r, want)
		}
	}
}
