package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The package comment is the manual: it lists every fault and tool there is.
func TestEverythingIsDocumented(t *testing.T) {
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(comment), func(r rune) bool { return strings.ContainsRune(" \t\n,()", r) })
	names := faultNames()
	for _, tool := range slices.Concat(slices.Collect(maps.Keys(effects)), slices.Collect(maps.Keys(contents))) {
		if !strings.HasPrefix(tool, "c_") && !strings.HasPrefix(tool, "o_") { // odd content is read in its table
			names = append(names, tool)
		}
	}
	for _, name := range names {
		if !slices.Contains(words, name) {
			t.Errorf("the package comment does not say what %s does", name)
		}
	}
	all := faultNames()
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			t.Errorf("two faults are called %s", name)
		}
	}
}

func TestFaultsOfTheOtherTransport(t *testing.T) {
	for _, test := range []struct{ fault, http, want string }{
		{"no-such", "", "unknown fault"},
		{"schema:no-such", "", "unknown schema"},
		{"banner", "127.0.0.1:0", "one of stdio"},
		{"crlf", "127.0.0.1:0", "one of stdio"},
		{"sse-cr", "", "one of http"},
		{"429", "", "one of http"},
		{"startslow", "127.0.0.1:0", ""},
		{"modern", "127.0.0.1:0", ""},
		{"schema:all", "", ""},
	} {
		_, err := configure([]string{"-fault", test.fault, "-http", test.http})
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s over %q: %v, want %q", test.fault, test.http, err, test.want)
		}
	}
}
