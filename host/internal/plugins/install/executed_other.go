//go:build !linux && !windows

package install

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// psTime bounds the wait for ps, which takes milliseconds.
const psTime = 10 * time.Second

// executed says which versions a process executes: the file in the store, or a copy
// of it.
func executed(places, digests []string) (map[string]string, error) {
	why := map[string]string{}
	if len(digests) == 0 {
		return why, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), psTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/bin/ps", "-axww", "-o", "command=").Output()
	if err != nil {
		return nil, fmt.Errorf("which processes run plugins cannot be seen: /bin/ps: %w", err)
	}
	for _, sum := range mentioned(places, digests, string(out)) {
		why[sum] = "a process executes it"
	}
	return why, nil
}
