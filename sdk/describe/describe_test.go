package describe

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	d := Description{
		Name: "github", Version: "1.2.3", SDKVersion: "0.1.0", Summary: "s", Homepage: "https://x.example", License: "MIT",
		ConfigSchema: json.RawMessage(`{"type":"object","maximum":12345678901234567890}`),
		Features:     []string{"forward"}, ForwardMethods: []string{"prompts/get"}, Environment: []string{"GH_HOST"},
		MCPVersions: []string{"2026-07-28"}, DefaultTimeout: time.Minute, DefaultStartTimeout: 1500 * time.Millisecond,
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"github","version":"1.2.3","sdkVersion":"0.1.0","summary":"s","homepage":"https://x.example","license":"MIT",` +
		`"configSchema":{"type":"object","maximum":12345678901234567890},"features":["forward"],"forwardMethods":["prompts/get"],` +
		`"environment":["GH_HOST"],"mcpVersions":["2026-07-28"],"defaultTimeout":"1m0s","defaultStartTimeout":"1.5s"}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	var back Description
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("got %+v, %v; want %+v", back, err, d)
	}
}

func TestEmptyIsLeftOut(t *testing.T) {
	for _, d := range []Description{{}, {DefaultTimeout: -time.Second, Features: []string{}}} {
		if raw, err := json.Marshal(&d); err != nil || string(raw) != `{}` {
			t.Errorf("%s, %v; want {}", raw, err)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	tests := []struct {
		in      string
		timeout time.Duration
		err     string
	}{
		{`{"defaultTimeout":"90s","later":{"added":1}}`, 90 * time.Second, ""},
		{`{"defaultTimeout":""}`, 0, ""},
		{`{"defaultTimeout":"soon"}`, 0, `defaultTimeout: time: invalid duration "soon"`},
		{`{"defaultStartTimeout":"-1s"}`, 0, `defaultStartTimeout: "-1s" is negative`},
	}
	for _, test := range tests {
		var d Description
		err := json.Unmarshal([]byte(test.in), &d)
		if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
			t.Errorf("%s: error %v, want %q", test.in, err, test.err)
		}
		if d.DefaultTimeout != test.timeout {
			t.Errorf("%s: %v, want %v", test.in, d.DefaultTimeout, test.timeout)
		}
	}
	if err := json.Unmarshal([]byte(`{"name":7}`), new(Description)); err == nil {
		t.Error("a name that is a number was read")
	}
}
