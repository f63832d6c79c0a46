package host_test

import (
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/schema"
)

// Of servers that were asked before, a host answers without compiling any of their
// schemas, once one process has looked at them; a call compiles those of its tool.
func TestNothingKnownIsCompiled(t *testing.T) {
	opt := options(t, "[servers.hello]\nplugin = \"hello\"\n[servers.h]\ncommand = \"${BUILT}/faultserver\"\n")
	states := func(h *host.Host, q host.Query) map[string]string {
		t.Helper()
		list, err := h.Tools(patient(t), q)
		if err != nil || len(list.Tools) < 3 {
			t.Fatalf("%+v %v", list, err)
		}
		all := map[string]string{}
		for i := range list.Tools {
			all[list.Tools[i].Name] = list.Tools[i].Unchecked()
		}
		return all
	}
	again := func() (h *host.Host, end func()) {
		t.Helper()
		h, err := host.Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		return h, func() {
			t.Helper()
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, end := again()
	want := states(first, host.Query{})
	end()

	before := schema.Compiled()
	next, end := again()
	for what, q := range map[string]host.Query{"a list": {Recall: true}, "a list with its schemas": {Recall: true, Judge: true}, "a part of it": {Recall: true, Judge: true, Pattern: "h/*"}} {
		for name, unchecked := range states(next, q) {
			if w, ok := want[name]; !ok || w != unchecked {
				t.Errorf("%s: %s is unchecked for %q, and was for %q", what, name, unchecked, w)
			}
		}
	}
	if _, err := next.Search(patient(t), host.SearchQuery{Query: "greet"}); err != nil {
		t.Error(err)
	}
	if tool, _ := next.Known(patient(t), "hello/greet"); tool == nil || tool.Unchecked() != "" {
		t.Errorf("one tool: %+v", tool)
	}
	next.Instructions()
	if n := schema.Compiled() - before; n != 0 {
		t.Errorf("%d schemas were compiled", n)
	}
	mustCall(t, next, "hello/greet", `{"name":"x"}`)
	if n := schema.Compiled() - before; n == 0 {
		t.Error("a call compiled nothing")
	}
	if _, err := next.Call(patient(t), host.Request{Tool: "hello/greet", Arguments: []byte(`{"name":7}`)}); err == nil {
		t.Error("a call's arguments were not checked")
	}
	end()
	if files, err := filepath.Glob(filepath.Join(opt.StateDir, "snapshots", "*.verdicts")); err != nil || len(files) != 2 {
		t.Errorf("%v %v", files, err)
	}
}
