package check

import (
	"os"
	"os/exec"
	"syscall"
)

// withoutNetwork starts the process in a network namespace of its own, in which there
// is no network at all. Where the system does not allow that, Start fails.
var withoutNetwork = func(cmd *exec.Cmd) {
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
}
