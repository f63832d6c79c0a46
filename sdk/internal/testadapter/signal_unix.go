//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// separate puts cmd out of the reach that kind names.
func separate(cmd *exec.Cmd, kind string) {
	switch kind {
	case "own":
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	case "escape":
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
}

// killSession kills our process group, ourselves included.
func killSession() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(-os.Getpid(), syscall.SIGKILL)
	}
}

func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
func stopSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
