//go:build !linux

package check

import "os/exec"

// withoutNetwork is nil where no process can be cut off from the network.
var withoutNetwork func(*exec.Cmd)
