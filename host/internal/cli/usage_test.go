package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// What commands do stands in one column, however long their names are.
func TestCommandsAreAligned(t *testing.T) {
	var help bytes.Buffer
	f := New(&terminal.Streams{Out: &help, Err: &help}, configIn(""), "test")
	if code := f.Run(t.Context(), []string{"--help"}); code != 0 {
		t.Fatal(code)
	}
	_, list, _ := strings.Cut(help.String(), "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	columns := map[int][]string{}
	for line := range strings.Lines(list) {
		at := regexp.MustCompile(`^  \S+ +`).FindString(line)
		columns[len(at)] = append(columns[len(at)], line)
	}
	if len(columns) != 1 || !strings.Contains(list, "  instructions  Print") {
		t.Errorf("%v", columns)
	}
}
