package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/collet-dev/collet/host"
)

// victimEnv makes the test binary a small host that opens that mcp.toml, calls
// until told otherwise, and prints the ids of its children.
const victimEnv = "COLLET_TEST_VICTIM"

func beVictim(file string) {
	dir := filepath.Dir(file)
	h, err := host.Open(context.Background(), host.Options{
		ConfigFiles: []string{file}, PluginDirs: []string{os.Getenv("BUILT")},
		StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache"),
	})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	if _, err := h.Tools(context.Background(), host.Query{}); err != nil {
		fmt.Println("error", err)
		return
	}
	for _, s := range h.Servers() {
		if s.Pid == 0 {
			fmt.Println("error", s.Name, s.State, s.Error)
			return
		}
		fmt.Println("pid", s.Pid)
	}
	fmt.Println("up")
	_, err = h.Call(context.Background(), host.Request{Tool: "n/t_hang"})
	fmt.Println("error", err)
}
