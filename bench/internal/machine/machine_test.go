package machine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestBusy(t *testing.T) {
	const quiet, not = ", load 0.50 before it began", ": **the machine was not quiet**"
	for _, test := range []struct {
		load  float64
		cores int
		want  string
	}{
		{-1, 2, ""},
		{0.5, 2, quiet},
		{0.5, 1, quiet + not},
		{2.34, 2, ", load 2.34 before it began" + not},
	} {
		if got := busy(test.load, test.cores); got != test.want {
			t.Errorf("load %v on %d cores: %q, not %q", test.load, test.cores, got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	line := Line()
	if want := fmt.Sprintf(", %d cores, %s %s/%s, 2", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH); !strings.Contains(line, want) || strings.Contains(line, "\n") {
		t.Errorf("%q has no %q, or is more than a line", line, want)
	}
	if c := Commit(); !strings.HasPrefix(c, "commit ") && c != "an unknown commit" {
		t.Errorf("the commit is %q", c)
	}
}
