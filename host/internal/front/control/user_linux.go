package control

import "golang.org/x/sys/unix"

// peerUser is who is at the other end of a socket (unix(7), SO_PEERCRED).
func peerUser(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// peerProcess is which process is at the other end, 0 when that is not known.
func peerProcess(fd int) int {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}
