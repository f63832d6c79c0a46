package reach

import (
	"encoding/json"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

func TestAdmit(t *testing.T) {
	some := Rules{Writable: []string{"Octo/demo*", "acme", "@me/x"}}
	for _, test := range []struct {
		rules      Rules
		tool, args string
		want       bool
	}{
		{Rules{}, "push_files", `{"owner":"o","repo":"r"}`, true},
		{Rules{ReadOnly: true}, "push_files", `{}`, false},
		{Rules{ReadOnly: true}, "a_tool_of_tomorrow", `{}`, false},
		{Rules{ReadOnly: true}, "issue_read", `{}`, true},
		{some, "issue_read", `{"owner":"o","repo":"r"}`, true},
		{some, "push_files", `{"owner":"octo","repo":"Demo2"}`, true},
		{some, "push_files", `{"owner":"octo","repo":"x"}`, false},
		{some, "push_files", `{"owner":"octo/demo","repo":"x"}`, false},
		{some, "push_files", `{"owner":"ACME","repo":"anything"}`, true},
		{some, "push_files", `{"owner":"acme-evil","repo":"x"}`, false},
		{some, "push_files", `{"owner":"acme","repo":"../evil/x"}`, false}, // an address is made of it
		{some, "push_files", `{"owner":"acme","repo":"..%2fevil"}`, false},
		{some, "push_files", `{"owner":"octo","repo":"demo?x"}`, false},
		{some, "push_files", `{"owner":"acme","repo":".."}`, false},
		{some, "push_files", `{"owner":"acme","repo":"a.b_c-d"}`, true},
		{some, "create_repository", `{"name":"../x","organization":"acme"}`, false},
		{some, "fork_repository", `{"owner":"acme","repo":"y"}`, false}, // into one's own account
		{some, "fork_repository", `{"owner":"evil","repo":"y","organization":"acme"}`, true},
		{some, "create_gist", `{}`, false},
		{some, "create_repository", `{"name":"x"}`, true},
		{some, "create_repository", `{"name":"y"}`, false},
		{some, "create_repository", `{"name":"y","organization":"acme"}`, true},
		{some, "push_files", `{"owner":7,"repo":["x"]}`, false},
		{some, "push_files", `not json`, false},
	} {
		err := test.rules.Admit(test.tool, json.RawMessage(test.args))
		if (err == nil) != test.want {
			t.Errorf("%v %s %s: %v, want allowed %v", test.rules, test.tool, test.args, err, test.want)
		}
		if f := failure.Classify(err); f != nil && f.Delivery != failure.NotSent {
			t.Errorf("%s: delivery %s", test.tool, f.Delivery)
		}
	}
}

func TestCheck(t *testing.T) {
	for p, want := range map[string]bool{"o": true, "o/r": true, "o/*": true, "@me": true, "o/r*": true, "": false, "/r": false, "o/": false, "*/r": false, "o/r/x": false, "o/[": false} {
		if got := (Rules{Writable: []string{p}}).Check(); (got == "") != want {
			t.Errorf("%q: %q", p, got)
		}
	}
}
