// Package machine says what figures were measured on: the first lines of every
// page of results. It measures nothing.
package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Line is what the figures were measured on, and how busy that was.
func Line() string {
	line := fmt.Sprintf("%s, %d cores, %s %s/%s, %s", processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		time.Now().UTC().Format(time.DateOnly))
	return line + busy(loadAverage(), runtime.NumCPU())
}

// busy says what load there was, less than 0 where that is not known, and whether it was
// more than a quarter of the cores.
func busy(load float64, cores int) string {
	switch {
	case load < 0:
		return ""
	case load > float64(cores)/4:
		return fmt.Sprintf(", load %.2f before it began: **the machine was not quiet**", load)
	}
	return fmt.Sprintf(", load %.2f before it began", load)
}

func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor"
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor"
}

// loadAverage is that of the last minute, less than 0 where it is not known.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	word, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return -1
	}
	return load
}

// Commit is what was measured.
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "an unknown commit"
	}
	return "commit " + strings.TrimSpace(string(out))
}
