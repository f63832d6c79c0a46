//go:build !windows

package failure

import "syscall"

// unreachable are the system's errors that say no connection came about.
var unreachable = []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH}
