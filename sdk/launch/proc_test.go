package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// processes returns the pids of living processes that run the faulty adapter.
func processes(t *testing.T) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil || len(links) == 0 {
		t.Skip("needs /proc")
	}
	var pids []int
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, faulty) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}
