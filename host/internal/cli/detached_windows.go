package cli

import "syscall"

// detachedProcess has no console (CreateProcess, DETACHED_PROCESS).
const detachedProcess = 0x00000008

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}
