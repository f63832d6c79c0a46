package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// switches are faults that are looked up where they act; stdioSwitches mean
// nothing over HTTP.
var (
	switches = []string{
		"modern", "modern-only", "ignoreterm", "capsquiet", "names", "huge", "rugged",
		"samecursor", "endlesscursor", "emptycursorend", "pages", "oddtools", "nolist",
	}
	stdioSwitches = []string{"bom", "needinit", "eofignore", "crash-partial"}
)

var versionFaults = map[string]string{
	"version-old":    `"2024-11-05"`,
	"version-future": `"2027-01-01"`,
	"version-bad":    `"latest"`,
	"version-number": `20250618`,
}

// startFault acts before anything is read.
type startFault struct {
	name string
	http bool // means something over HTTP, too
	do   func(*server)
}

var starts = []startFault{
	{"startslow", true, func(s *server) { time.Sleep(s.delay) }},
	{"crash-n", true, func(s *server) {
		if s.countIn(s.state+".starts") <= s.n {
			fmt.Fprintln(os.Stderr, "not yet")
			os.Exit(1)
		}
	}},
	{"banner", false, func(*server) { raw("\x1b[1m nasty \U0001F916\x1b[0m\n====\n{\nserver \"ready\" on {stdio}\n[\n") }},
	{"jsonlog", false, func(*server) {
		raw(`{"level":"info","msg":"up"}` + "\n" + `{"id":1,"method":"GET","error":"none"}` + "\n[1,2]\n")
	}},
	{"earlynotif", false, func(s *server) {
		stdout{s}.write(notification("notifications/message", `{"level":"info","data":"early"}`), false)
	}},
	{"earlyping", false, func(s *server) { go s.ask(stdout{s}, "", "ping", nil) }},
	{"stderrflood", false, func(s *server) {
		l := strings.Repeat("e", 99) + "\n"
		for n := 0; n < s.size; n += len(l) {
			os.Stderr.WriteString(l)
		}
	}},
	{"exit0", false, func(*server) { os.Exit(0) }},
	{"crash-init", false, func(*server) {
		fmt.Fprintln(os.Stderr, "NASTY_API_KEY is not set")
		os.Exit(1)
	}},
	{"grandchild", false, func(s *server) {
		cmd := exec.Command("sleep", "600")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			fatal(err.Error())
		}
		s.log("grandchild", fmt.Sprint(cmd.Process.Pid))
	}},
}

// hook is a fault in the reaction to one method; do says whether the message is
// dealt with.
type hook struct {
	name, method string
	do           func(*server, message) bool
}

func silent(*server, message) bool { return true }

var hooks = []hook{
	{"discover-die", "server/discover", func(*server, message) bool { os.Exit(1); return true }},
	{"discover-silent", "server/discover", silent},
	{"discover-slow", "server/discover", func(s *server, m message) bool {
		time.AfterFunc(s.delay, func() { s.discover(m) })
		return true
	}},
	{"discover-odd", "server/discover", func(s *server, m message) bool { s.refuse(m, -32000, "odd"); return true }},
	{"discover-empty", "server/discover", func(s *server, m message) bool { s.result(m, "{}"); return true }},
	{"discover-future", "server/discover", func(s *server, m message) bool {
		s.result(m, `{"resultType":"complete","supportedVersions":["2099-01-01","2099-02-01"],"capabilities":{}}`)
		return true
	}},
	{"discover-old", "server/discover", func(s *server, m message) bool {
		s.answer(m, answer{fault: `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}`})
		return true
	}},
	{"discover-refused", "server/discover", func(s *server, m message) bool {
		s.answer(m, answer{fault: `{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}`})
		return true
	}},
	{"listen-none", "subscriptions/listen", func(s *server, m message) bool { s.refuse(m, -32601, "Method not found"); return true }},
	{"listen-nothing", "subscriptions/listen", func(s *server, m message) bool {
		listener{m.to, string(m.ID)}.say("notifications/subscriptions/acknowledged", `{"notifications":{}}`)
		return true
	}},
	{"listen-end", "subscriptions/listen", func(s *server, m message) bool {
		return s.endEarly(m, func() { s.result(m, `{"resultType":"complete"}`) })
	}},
	{"listen-cancel", "subscriptions/listen", func(s *server, m message) bool {
		return s.endEarly(m, func() {
			m.to.write(notification("notifications/cancelled", `{"requestId":`+string(m.ID)+`}`), false)
		})
	}},
	{"listen-drop", "subscriptions/listen", func(s *server, m message) bool {
		return s.endEarly(m, func() {
			if x, ok := m.to.(*exchange); ok {
				x.leave()
			}
		})
	}},
	{"initnever", "initialize", silent},
	{"init-error", "initialize", func(s *server, m message) bool { s.refuse(m, -32603, "no licence"); return true }},
	{"initslow", "initialize", func(s *server, m message) bool {
		time.AfterFunc(s.delay, func() { s.initialize(m) })
		return true
	}},
	{"crash-call", "tools/call", func(*server, message) bool {
		fmt.Fprintln(os.Stderr, "panic: nasty")
		os.Exit(2)
		return true
	}},
	{"crash-afterlist", "tools/list", func(s *server, m message) bool {
		s.list(m)
		os.Exit(0)
		return true
	}},
	{"closestdout", "tools/call", func(*server, message) bool {
		os.Stdout.Close()
		return true
	}},
	{"stdinstop", "tools/list", func(s *server, m message) bool {
		s.list(m)
		forever()
		return true
	}},
}

// hooked says whether a fault is in the reaction to a method.
func (s *server) hooked(method string) bool {
	return slices.ContainsFunc(hooks, func(h hook) bool { return s.faults[h.name] && h.method == method })
}

// check says why a fault cannot be had, if so.
func check(fault string, overHTTP bool) error {
	transport := ""
	switch {
	case slices.Contains(stdioSwitches, fault), slices.Contains([]string{"closestdout", "stdinstop"}, fault),
		slices.ContainsFunc(streams, func(f stream) bool { return f.name == fault }),
		slices.ContainsFunc(starts, func(f startFault) bool { return f.name == fault && !f.http }):
		transport = "stdio"
	case slices.Contains(httpFaults(), fault):
		transport = "http"
	case !slices.Contains(faultNames(), fault):
		return fmt.Errorf("unknown fault %s", fault)
	}
	if transport == "stdio" && overHTTP || transport == "http" && !overHTTP {
		return fmt.Errorf("fault %s is one of %s", fault, transport)
	}
	return nil
}

// faultNames are all faults but those named schema:NAME.
func faultNames() []string {
	names := slices.Concat(switches, stdioSwitches, httpFaults(), slices.Collect(maps.Keys(versionFaults)))
	for _, f := range starts {
		names = append(names, f.name)
	}
	for _, f := range hooks {
		names = append(names, f.name)
	}
	for _, f := range shapes {
		names = append(names, f.name)
	}
	for _, f := range streams {
		names = append(names, f.name)
	}
	return names
}
