package check

import (
	"encoding/json"
	"strings"
	"testing"
)

// A hook gets the checks that hold for hooks, and a broken one is found out.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ config, check, why string }{
		{`{"before":"mark","after":"mark","mark":"x"}`, "", ""},
		{`{"open":"error"}`, "configure", "it does not want to open"},
		{`{"before":"error"}`, "events", "at the point before: unknown: no idea"},
		{`{"after":"garbage"}`, "events", "at the point after"},
		{`{"before":"exit"}`, "concurrent", "the process ended (exit status 7)"},
		{`{"after":"panic"}`, "large-arguments", "panicked"},
		{`{"before":"hang"}`, "unknown-fields", "no answer in time"},
	} {
		t.Run(tt.config, func(t *testing.T) {
			t.Parallel()
			opt := Options{Path: built["hook"], Config: json.RawMessage(tt.config), Patience: 4}
			if tt.check != "" {
				opt.Only, opt.Patience = []string{tt.check}, 1
			}
			r := verify(t, opt)
			if tt.check == "" {
				if !r.OK() || r.Count(Passed) != len(hookChecks) || r.Name != "testhook" {
					t.Errorf("%s\n%v", r.Summary(), r.Outcomes)
				}
			} else if o := r.Outcomes[0]; o.Status != Failed || !strings.Contains(o.Why, tt.why) {
				t.Errorf("it does not name %q:\n%v", tt.why, o)
			}
		})
	}
}
