package failure

import "syscall"

// unreachable are the system's errors that say no connection came about. The
// names in package syscall are invented numbers on Windows; sockets return these:
// WSAECONNREFUSED, WSAEHOSTUNREACH, WSAENETUNREACH.
var unreachable = []error{syscall.Errno(10061), syscall.Errno(10065), syscall.Errno(10051)}
