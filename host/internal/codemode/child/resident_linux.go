package child

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// release gives back memory that only the start needed: garbage, and the pages of the
// program's file, most of which are those of its other parts. What is needed again is
// read anew from the page cache.
func release() {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		// "00400000-01234000 r-xp 00000000 fe:01 1234   /usr/bin/collet", see proc_pid_maps(5)
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "r-xp" && f[1] != "r--p" || !strings.HasSuffix(strings.TrimSuffix(line, "\n"), " "+program) {
			continue
		}
		first, last, _ := strings.Cut(f[0], "-")
		from, err := strconv.ParseUint(first, 16, 64)
		if err != nil {
			continue
		}
		to, err := strconv.ParseUint(last, 16, 64)
		if err != nil {
			continue
		}
		// Nobody writes to these pages, so that nothing can be lost (madvise(2)).
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
	}
}
