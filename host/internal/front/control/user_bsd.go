//go:build darwin || freebsd

package control

import "golang.org/x/sys/unix"

// peerUser is who is at the other end of a socket (LOCAL_PEERCRED).
func peerUser(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// peerProcess has no one way to find out on these systems.
func peerProcess(int) int { return 0 }
