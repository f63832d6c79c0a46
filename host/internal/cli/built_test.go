package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are collet and the programs that tests have it talk to, by name, with their
// sources. Each is built in its own module's directory, so that a workspace is not
// needed.
var programs = map[string]string{
	"collet":                 "host/cmd/collet",
	"collet-plugin-mcp":      "plugins/mcp",
	"collet-plugin-hello":    "sdk/examples/hello",
	"collet-plugin-fault":    "sdk/internal/testadapter",
	"collet-plugin-replay":   "plugins/replay",
	"collet-plugin-testhook": "sdk/internal/testhook",
	"faultserver":            "sdk/internal/faultserver",

	"collet-plugin-websearch": "plugins/websearch",
	"collet-plugin-workiq":    "plugins/workiq",
	"workiq":                  "plugins/workiq/internal/fakeworkiq",
}

// directory is where build puts them; "" before.
var directory string

// build builds all of them, once for all tests.
var build = sync.OnceValue(func() (err error) {
	if directory, err = os.MkdirTemp("", "programs"); err != nil {
		return err
	}
	var building sync.WaitGroup
	faults := make(chan error, len(programs))
	for name, source := range programs {
		building.Go(func() {
			cmd := exec.Command("go", "build", "-o", filepath.Join(directory, name)+exe, ".")
			cmd.Dir = filepath.Join("..", "..", "..", filepath.FromSlash(source))
			if out, err := cmd.CombinedOutput(); err != nil {
				faults <- fmt.Errorf("build %s: %w\n%s", name, err, out)
			}
		})
	}
	building.Wait()
	close(faults)
	return <-faults
})

// built is the directory of these programs.
func built(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts real processes")
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return directory
}

// tests are the tests of the package, which leave no program behind.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer func() {
		if directory != "" {
			os.RemoveAll(directory)
		}
	}()
	return m.M.Run()
}
