package schema

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A file that is not part of the edition could change what Compile says without
// anybody noticing.
func TestEditionIsOfEveryFile(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range files {
		if n := f.Name(); strings.HasSuffix(n, ".go") && !strings.HasSuffix(n, "_test.go") {
			want = append(want, n)
		}
	}
	embedded, err := sources.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range embedded {
		got = append(got, f.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the edition is of %v, and the package of %v", got, want)
	}
	if e := Edition(); len(e) != 64 || e != Edition() {
		t.Errorf("edition %q", e)
	}
}
