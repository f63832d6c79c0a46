package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// realStdout and realStderr are the process's own; go-plugin replaces the
// variables of package os.
var realStdout, realStderr = os.Stdout, os.Stderr

// beforeHandshake are the modes that act at start, in the order of FAULT.
var beforeHandshake = map[string]func(value string){
	"junk":        func(string) { fmt.Print("npm notice: junk\n\n{\"level\":\"info\"}\r\n1|2|3\n") },
	"stderr":      func(text string) { fmt.Fprintln(os.Stderr, text) },
	"nohandshake": func(string) { time.Sleep(forever) },
	"closestdout": func(string) { _ = os.Stdout.Close(); time.Sleep(forever) },
	"exit":        func(code string) { os.Exit(number(code)) },
	"slow":        func(d string) { time.Sleep(duration(d)) },
	"core":        func(n string) { handshakeOnly(n + "|1|unix|/nowhere|grpc|") },
	"netrpc":      func(string) { handshakeOnly("1|1|unix|/nowhere|netrpc|") },
	"deaf":        func(string) { deaf() },
	"address":     func(path string) { handshakeFor(path) },
	"grandchild":  grandchild,
	"escape":      func(string) { grandchild("escape") },
	"readstdin":   func(string) { go readStdin() },
}

func handshakeOnly(line string) {
	fmt.Println(line)
	time.Sleep(forever)
}

// deaf listens, and never answers.
func deaf() {
	l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "deaf"))
	if err != nil {
		panic(err)
	}
	handshakeFor(l.Addr().String())
}

func handshakeFor(path string) {
	handshakeOnly(fmt.Sprintf("1|%d|unix|%s|grpc|", wire.ProtocolVersion, path))
}

// grandchild starts a child that holds our stderr and outlives us.
func grandchild(kind string) {
	cmd := exec.Command("sleep", "300")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	separate(cmd, kind)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "grandchild", cmd.Process.Pid)
}

func readStdin() {
	b, err := io.ReadAll(os.Stdin)
	fmt.Fprintf(realStderr, "stdin: %q %v\n", b, err)
}

// watchLease leaves with everything it started once the host is gone.
func watchLease() {
	if os.Getenv(wire.LeaseEnv) != wire.LeaseStdin {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	killSession()
	os.Exit(0)
}

// afterHandshake are the modes that act once the process serves.
var afterHandshake = map[string]func(value string){
	"flood": func(n string) {
		line := append(bytes.Repeat([]byte("x"), 1023), '\n')
		for left := number(n); left > 0; left -= len(line) {
			_, _ = realStderr.Write(line)
		}
		fmt.Fprintln(realStderr, "flooded")
	},
	"poison": func(string) {
		for _, line := range []string{`{"@message":1}`, `{"@level":1}`, `{"@timestamp":1}`, `{"@message":"x","@level":null}`, "\xff\xfe\x00"} {
			fmt.Fprintln(realStderr, line)
		}
		fmt.Fprintln(realStderr, "poisoned")
	},
	"longline": func(n string) {
		_, _ = io.WriteString(realStdout, strings.Repeat("y", number(n))+"\n")
		fmt.Fprintln(realStderr, "wrote the long line")
	},
}

func describeCommand(modes faults) {
	switch {
	case modes.has("describehang"):
		grandchild("")
		time.Sleep(forever)
	case modes.has("describejunk"):
		fmt.Println("Usage: testadapter [flags]")
	case modes.has("describehuge"):
		fmt.Printf(`{"name":"test","summary":"%s"}`, strings.Repeat("z", 2<<20))
	case modes.has("describefail"):
		fmt.Fprintln(os.Stderr, "no describe here")
		os.Exit(3)
	case modes.has("proper"):
		describeProper(modes)
	default:
		fmt.Println(`{"name":"test","version":"1.2.3","summary":"Misbehaves on demand.","defaultTimeout":"1m0s","environment":["TEST_TOKEN"],` + features() + `"configSchema":{"type":"object","x":9007199254740993}}`)
	}
}
