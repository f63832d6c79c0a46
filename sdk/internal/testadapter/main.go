// Command testadapter is an adapter that misbehaves on demand, for the tests of
// whoever launches adapters. It is written directly on go-plugin, so that it can
// break the rules that package adapter keeps. Build it, from any module of the
// workspace, with
//
//	go build github.com/collet-dev/collet/sdk/internal/testadapter
//
// The environment variable FAULT is a comma-separated list of modes, each
// "name" or "name=value".
//
// Before the handshake:
//
//	junk             prints "npm notice: junk" and two more lines to stdout
//	stderr=TEXT      prints TEXT to stderr
//	nohandshake      prints nothing and waits for ever
//	closestdout      closes stdout without a handshake and waits for ever
//	exit=CODE        exits with that code
//	slow=DURATION    waits before everything else that is listed after it
//	version=N        speaks version N of the contract
//	core=N           prints a handshake of go-plugin core version N
//	netrpc           prints a handshake for net/rpc
//	deaf             prints a handshake for an address where nobody answers
//	address=PATH     prints a handshake for a unix socket of somebody else
//	otherservice     serves no Adapter at all
//	grandchild       starts a child of its own that holds stderr and sleeps 300 s
//	grandchild=own   the same, in a process group of its own
//	escape           the same, in a session of its own: nobody can sweep it
//	readstdin        reads stdin and reports what it got on stderr
//	nolease          ignores the end of stdin
//	describehang, describejunk, describehuge, describefail   for the sub-command "describe"
//
// After the handshake:
//
//	flood=BYTES      writes that much to stderr, in lines of 1 KiB
//	poison           writes {"@message":1} and the like to stderr
//	longline=BYTES   writes one line of that size to the real stdout
//	stopself         stops itself (SIGSTOP) soon after its first answer
//
// Of the contract:
//
//	noshutdown       stays after Shutdown
//	slowclose=DURATION   takes that long to leave after Shutdown
//	configurehang    Configure never returns
//	asks=TOOL        that tool asks for consent
//	watchsilent      Watch never sends
//	unhealthy        the health service says NOT_SERVING
//	sickens          the same, from the second answer on
//	hugelist=BYTES   its list has a tool with a definition of that size
//
// With the mode "proper" it serves another adapter in place of all that follows, one
// that keeps the contract, with the settings url and token and the tools echo {text},
// fetch, which asks url, and large. Of it:
//
//	describelies describeasks         describe says another version, asks a proxy
//	oddname oddversion oddfeature     in its description
//	arrayschema unmarked noschema badschema   its config_schema
//	nocookie mute stays               by hand: exits with 0, says nothing, stays
//	chatty           prints to the real stdout
//	anyconfig noproblems dieswrong    a bad config: accepted, without problems, fatal
//	nosnapshot       Watch begins with health
//	changing unsorted misnamed badpattern endless   its list
//	anything bare diesunknown         calls nobody should make: answered, a bare status, fatal
//	noresult tworesults goeson falls nojson   the events of a call
//	ignorescancel diescanceled        canceled calls of fetch
//	onecall          dies of two calls at once
//	smallrecv smallsend               gRPC's own limits
//	unclassified barefault noretryafter   failures of fetch
//	unavailable unavailablemute       fetch answers that it is not available: with a reason, without
//	tells tellsfailure                its config on stderr, its token in failures
//	strict           refuses unknown fields
//	needs=NAME       exits without that variable
//	exclusive        exits when another one runs
//	watchdog         exits after having been stopped
//	calls            announces streams of calls; with streamless it has none, with
//	                 strangecall events of others, with inline large results in them,
//	                 with keeps large results that can be taken twice
//	leaveschild      starts a child in a session of its own
//
// Tools, whose arguments are one JSON object:
//
//	echo             returns its arguments as structuredContent
//	hang             runs until it is canceled
//	exit             exits with status 7, after the line "exiting on purpose" on stderr
//	kill             sends itself SIGKILL, after the line "killing myself" on stderr
//	panic            panics in a goroutine
//	stop             sends itself SIGSTOP
//	big {"bytes":N}  returns a text of N bytes
//	count            returns how many calls it has had, this one included
//	environ          returns its variables' names, sorted
//	progress         sends three progress events, then a result
//	token {"bytes":N}  asks service Host for a token of a resource N bytes long and returns its length
//	isError          returns a result with isError
//	flood {"bytes":N}  sends progress of that size in all, then a result
//	print            prints "printed to os.Stdout" through os.Stdout and os.Stderr
//
// Under a file name that has "streams" in it, it announces streams of calls. There
//
//	odd {"do":WHAT}  sends events that there must not be, WHAT being one of those in
//	                 streams.go, and then its result
//	wait             is told to end by the call go
package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	modes := parseFaults(os.Getenv("FAULT"))
	if len(os.Args) > 1 && os.Args[1] == "describe" {
		describeCommand(modes)
		return
	}
	for _, m := range modes {
		if run, ok := beforeHandshake[m.name]; ok {
			run(m.value)
		}
	}
	serve(modes)
}

// fault is one mode of FAULT.
type fault struct{ name, value string }

type faults []fault

func parseFaults(text string) faults {
	var list faults
	for _, entry := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(entry, "=")
		list = append(list, fault{name, value})
	}
	return list
}

func (l faults) get(name string) (string, bool) {
	for _, f := range l {
		if f.name == name {
			return f.value, true
		}
	}
	return "", false
}

func (l faults) has(name string) bool {
	_, ok := l.get(name)
	return ok
}

func number(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		panic("FAULT: " + err.Error())
	}
	return n
}

func duration(value string) time.Duration {
	d, err := time.ParseDuration(value)
	if err != nil {
		panic("FAULT: " + err.Error())
	}
	return d
}

// forever outlasts every test, and still ends.
const forever = 10 * time.Minute
