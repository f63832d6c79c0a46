package codemode

import (
	"os"
	"syscall"
)

// environment is all that the process gets: nothing of the host's but what Windows
// itself needs to load a program.
func environment() []string {
	return []string{"GOMAXPROCS=1", "TZ=UTC", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
}

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// kill ends the process. It starts none.
func (p *process) kill() { _ = p.cmd.Process.Kill() }
