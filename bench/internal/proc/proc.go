// Package proc reads from /proc which processes there are and what memory they
// use. It works on Linux alone, and starts and ends nothing.
package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Family sums the proportional set size of a process and of those it has started,
// directly or not, whose program lies in the directory bin: of a host and its
// adapters, without the servers behind them.
func Family(pid int, bin string) (sum int64, processes int, err error) {
	children, err := Children()
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
		b, err := Bytes(fmt.Sprintf("/proc/%d/smaps_rollup", all[0]), "Pss")
		if err != nil {
			return 0, 0, err
		}
		sum, processes = sum+b, processes+1
	}
	return sum, processes, nil
}

// Children maps each process to those it has started.
func Children() (map[int][]int, error) {
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

// Bytes reads one "Key: 12 kB" line of a file under /proc.
func Bytes(file, key string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		if name == key {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New(file + " has no " + key)
}

// Marked are the processes with mark, "NAME=VALUE", in the environment they were
// started with: all that a program has started, those too that have left it since.
func Marked(mark string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && slices.Contains(strings.Split(string(b), "\x00"), mark) {
			all = append(all, pid)
		}
	}
	return all, nil
}
