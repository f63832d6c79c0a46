// Faultserver is an MCP server over stdio that misbehaves on request. It is a
// test fixture: it knows nothing of collet, so that what a test shows is what a
// stranger's server would show.
//
//	faultserver [-fault a,b,c] [-delay D] [-size N] [-n N] [-log FILE] [-state FILE]
//
// Without faults it is a plain server of the initialize era, up to 2025-11-25,
// with the tools below. Every message it receives goes to -log as one JSON line
// {"event":"in","message":...}; "start", "eof" and "term" are logged, too.
//
// Faults at the start
//
//	banner          prints a banner with escape sequences, text and a lone "{"
//	jsonlog         prints JSON log records, one of them with an id
//	bom             a byte order mark before the first line
//	earlynotif      a notification before anything was asked
//	earlyping       a ping before anything was asked
//	stderrflood     -size bytes on stderr before reading (default 1 MiB)
//	startslow       waits -delay before reading
//	exit0           exits with status 0 at once
//	crash-init      complains about NASTY_API_KEY on stderr and exits with status 1
//	grandchild      starts a child of its own that holds the pipes
//
// Faults of the byte stream
//
//	midlog          a line of text before each message
//	leading         text before each message, on its line
//	nul             a line of NUL bytes before each message
//	badutf8         a line of invalid UTF-8 before each message
//	splitutf8       each message in two writes, cut inside a character
//	dribble         each message byte by byte
//	crlf            lines end in CR LF
//	blank           blank lines around each message
//	pretty          messages over several lines
//	twodocs         a notification and the message on one line
//	utf16           UTF-16 little endian with a byte order mark
//	contentlength   LSP framing
//
// Faults of answers
//
//	id-string id-float id-exp   "7", 7.0 and 7e0 for 7
//	batch           each answer in an array, with a notification
//	casefold        Result and ID beside result and id
//	idlast          the id after the result
//	errnull         "error": null beside a result
//	both neither    a result and an error, or none of them (tools/call only)
//	repeat          result twice (tools/call only)
//	half-answer     half an answer, then exit with status 2 (tools/call only)
//	badjson         an answer that is no JSON (tools/call only)
//	errnoid         an error with id null (tools/call only)
//
// Faults of the handshake
//
//	modern          speaks 2026-07-28 besides the older versions
//	modern-only     speaks nothing else
//	discover-die    exits with status 1 when probed
//	discover-silent never answers the probe
//	discover-slow   answers the probe after -delay
//	discover-odd    answers the probe with error -32000
//	discover-empty  answers the probe with {}
//	discover-future answers the probe with versions of 2099
//	discover-old    answers the probe with -32022 and older versions
//	discover-refused answers the probe with -32022 and a version of 2099
//	initnever       never answers initialize
//	init-error      answers initialize with error -32603
//	initslow        answers initialize after -delay
//	version-old version-future version-bad version-number
//	                2024-11-05, 2027-01-01, "latest", 20250618
//
// Faults of the list
//
//	samecursor endlesscursor emptycursorend   cursors that repeat, never end, end in ""
//	pages           -n pages of one tool each
//	oddtools        entries that are no objects or have no name, and a repeated one
//	nolist          tools is no array
//	schema:NAME     one more tool, sch_NAME; see schemas.go
//
// Faults of the process
//
//	crash-call      exits with status 2 when a tool is called
//	crash-afterlist exits with status 0 right after the list
//	closestdout     closes stdout when a tool is called, and lives on
//	stdinstop       stops reading after the list
//	eofignore       lives on after the end of its stdin
//	ignoreterm      and after SIGTERM
//	needinit        refuses other requests before notifications/initialized
//
// Tools: see the tables in content.go and effects.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	s := &server{faults: map[string]bool{}, asked: map[string]chan []byte{}}
	faults := flag.String("fault", "", "comma-separated `names` of faults")
	flag.DurationVar(&s.delay, "delay", time.Second, "the time slow faults take")
	flag.IntVar(&s.size, "size", 1<<20, "the `bytes` large things have")
	flag.IntVar(&s.n, "n", 3, "the `count` of counted things")
	flag.StringVar(&s.state, "state", "", "`file` in which s_count counts")
	logFile := flag.String("log", "", "`file` for what the host sent")
	flag.Parse()
	for name := range strings.SplitSeq(*faults, ",") {
		if name == "" {
			continue
		}
		if schema, ok := strings.CutPrefix(name, "schema:"); ok {
			if _, known := schemas[schema]; !known {
				fatal("unknown schema " + schema)
			}
			s.schemas = append(s.schemas, schema)
		} else if !known(name) {
			fatal("unknown fault " + name)
		}
		s.faults[name] = true
	}
	s.openLog(*logFile)
	s.log("start", "")
	if s.faults["ignoreterm"] {
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		go func() {
			for range terms {
				s.log("term", "")
			}
		}()
	}
	for _, f := range starts {
		if s.faults[f.name] {
			f.do(s)
		}
	}
	s.serve(os.Stdin)
	s.log("eof", "")
	if s.faults["eofignore"] || s.faults["ignoreterm"] {
		forever()
	}
}

func fatal(message string) {
	fmt.Fprintln(os.Stderr, "faultserver:", message)
	os.Exit(64)
}

// forever blocks; a plain select would be a deadlock to the runtime.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
