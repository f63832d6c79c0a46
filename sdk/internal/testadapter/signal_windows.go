package main

import (
	"os"
	"os/exec"
	"time"
)

func separate(*exec.Cmd, string) {}
func killSession()               {}
func killSelf()                  { os.Exit(137) }
func stopSelf()                  { time.Sleep(forever) }
