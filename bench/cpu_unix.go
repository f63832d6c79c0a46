//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTimes are the processor times of this process and, on Linux, of another.
func cpuTimes(pid int) (own, other time.Duration, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, os.NewSyscallError("getrusage", err)
	}
	own = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return own, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	// Fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms; the name, field 2, may
	// have spaces.
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		other += time.Duration(ticks) * 10 * time.Millisecond
	}
	return own, other, nil
}
