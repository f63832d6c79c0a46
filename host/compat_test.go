package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// A plugin that was written against the first contract, and built by what was there
// then, works with the host of today: it knows no feature, and none is wanted of it.
func TestFirstContract(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "collet-plugin-compat")
	if os.PathSeparator == '\\' {
		path += ".exe"
	}
	cmd := exec.CommandContext(patient(t), "go", "build", "-o", path, ".")
	cmd.Dir, cmd.Env = filepath.Join("..", "test", "compat", "v1"), append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	h := open(t, fmt.Sprintf("[servers.old]\nplugin = %q\nconfig = { word = \"hello\" }\nexposure = \"direct\"\nretry = \"never\"\n", path))

	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := fmt.Sprint(names); got != "[old/count old/fail old/said old/wait]" {
		t.Fatalf("tools %s, servers %+v", got, list.Servers)
	}

	const args = `{"n":12345678901234567890, "b":"<&>"}`
	res, err := h.Call(patient(t), host.Request{Tool: "old/said", Arguments: json.RawMessage(args)})
	if want := `{"content":[{"type":"text","text":"hello"}],"structuredContent":` + args + `}`; err != nil || string(res.JSON) != want {
		t.Errorf("result %+v, %v; want %s", res, err, want)
	}

	var steps []string
	_, err = h.Call(patient(t), host.Request{Tool: "old/count", OnProgress: func(p host.Progress) {
		steps = append(steps, fmt.Sprintf("%g/%g %s", p.Done, p.Total, p.Message))
	}})
	if got := fmt.Sprint(steps); err != nil || got != "[1/3 step 1 2/3 step 2 3/3 step 3]" {
		t.Errorf("progress %s, %v", got, err)
	}

	ctx, cancel := context.WithCancel(patient(t))
	_, err = h.Call(ctx, host.Request{Tool: "old/wait", OnProgress: func(host.Progress) { cancel() }})
	if f, ok := err.(*host.Failure); !ok || f.Class != failure.Canceled {
		t.Errorf("canceled: %v", err)
	}

	_, err = h.Call(patient(t), host.Request{Tool: "old/fail"})
	if f, ok := err.(*host.Failure); !ok || f.Class != failure.RateLimited || f.Delivery != failure.Answered || f.Message != "slow down" {
		t.Errorf("failure: %+v", err)
	}

	// The same process still: none of that was the end of it.
	if res, err = h.Call(patient(t), host.Request{Tool: "old/said", Arguments: json.RawMessage(`{}`)}); err != nil || res.Attempts != 1 {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
}
