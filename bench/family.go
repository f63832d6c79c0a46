package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// family sums the proportional set size of a process and of those it has started,
// directly or not, whose program lies in the directory bin: of a host and its
// adapters, without the servers behind them.
func family(pid int, bin string) (sum int64, processes int, err error) {
	children, err := parents()
	if err != nil {
		return 0, 0, err
	}
	if bin, err = filepath.EvalSymlinks(bin); err != nil {
		return 0, 0, err
	}
	for all := []int{pid}; len(all) > 0; all = all[1:] {
		all = append(all, children[all[0]]...)
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", all[0]))
		if err != nil || filepath.Dir(exe) != bin {
			continue // a server, or gone
		}
		b, err := procBytes(fmt.Sprintf("/proc/%d/smaps_rollup", all[0]), "Pss")
		if err != nil {
			return 0, 0, err
		}
		sum, processes = sum+b, processes+1
	}
	return sum, processes, nil
}

// parents maps each process to those it has started.
func parents() (map[int][]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		// proc_pid_stat(5): pid (name) state ppid; the name may hold anything.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("/proc/%d/stat: %s", pid, b)
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, err
		}
		children[parent] = append(children[parent], pid)
	}
	return children, nil
}
