// Faultserver is an MCP server that misbehaves on request, over stdio or over
// Streamable HTTP. It is a test fixture: it knows nothing of collet, so that
// what a test shows is what a stranger's server would show.
//
//	faultserver [-fault a,b,c] [-delay D] [-size N] [-n N] [-log FILE] [-state FILE]
//	faultserver -http ADDR [-certout FILE] [-sibling URL] ...
//
// Without faults it is a plain server of the initialize era, up to 2025-11-25,
// with the tools below. Every message it receives goes to -log as one JSON line
// {"event":"in","message":...}; "start", "eof" and "term" are logged, too, and
// over HTTP each request as {"event":"http","message":{"method","path",
// "headers"}} and each stream a client closed as "closed".
//
// With -http it listens on ADDR (port 0 is any), prints its URL as the first
// line of stdout, logs on as above and lives until it is killed. A client of the
// initialize era gets a session; with "modern" a request that carries
// MCP-Protocol-Version 2026-07-28 is served on its own. An answer is JSON unless
// something has to be said before it: then it is an event stream.
//
// # Faults of both transports
//
// Answers
//
//	id-string id-float id-exp   "7", 7.0 and 7e0 for 7
//	batch           each answer in an array, with a notification
//	casefold        Result and ID beside result and id
//	idlast          the id after the result
//	errnull         "error": null beside a result
//	both neither    a result and an error, or none of them (tools/call only)
//	repeat          result twice (tools/call only)
//	badjson         an answer that is no JSON (tools/call only)
//	errnoid         an error with id null (tools/call only)
//
// The handshake
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
//	capsquiet       says nothing of listChanged
//
// Subscriptions (subscriptions/listen); the first -n of them are
//
//	listen-end      ended by their result once acknowledged
//	listen-cancel   cancelled once acknowledged
//	listen-drop     left without a word once acknowledged (over HTTP)
//
// and all of them
//
//	listen-none     refused with -32601
//	listen-nothing  granted nothing
//
// The list
//
//	samecursor endlesscursor emptycursorend   cursors that repeat, never end, end in ""
//	pages           -n pages of one tool each
//	oddtools        entries that are no objects or have no name, and a repeated one
//	nolist          tools is no array
//	names           tools whose names collide, are long or hold odd characters
//	huge            1,000 more tools and one whose schema has 150 KB
//	rugged          the tool rug is what x_rug makes of it, from the start
//	schema:NAME     one more tool, sch_NAME, with an odd schema (schemas.go);
//	schema:all      is all of them
//
// The process
//
//	startslow       waits -delay before anything else
//	crash-n         exits with status 1 at the first -n starts, counted in -state
//	crash-call      exits with status 2 when a tool is called
//	crash-afterlist exits with status 0 right after the list
//	ignoreterm      lives on after SIGTERM (and after the end of its stdin)
//
// # Faults of stdio
//
// The start
//
//	banner          prints a banner with escape sequences, text and a lone "{"
//	jsonlog         prints JSON log records, one of them with an id
//	bom             a byte order mark before the first line
//	earlynotif      a notification before anything was asked
//	earlyping       a ping before anything was asked
//	stderrflood     -size bytes on stderr before reading (default 1 MiB)
//	exit0           exits with status 0 at once
//	crash-init      complains about NASTY_API_KEY on stderr and exits with status 1
//	grandchild      starts a child of its own that holds the pipes
//
// The byte stream
//
//	midlog          a line of text before each message
//	leading         text before each message, on its line
//	ansi            escape sequences around each message, on its line
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
//	crash-partial   half an answer, then exit with status 2 (tools/call only)
//
// The process
//
//	closestdout     closes stdout when a tool is called, and lives on
//	stdinstop       stops reading after the list
//	eofignore       lives on after the end of its stdin
//	needinit        refuses other requests before notifications/initialized
//
// # Faults of HTTP
//
// "The first -n calls" are POSTs of tools/call, counted over the whole run.
//
// Sessions
//
//	sess404         each session ends after -n calls: 404
//	sess404-always  each session ends before its first request
//	nosession       gives no session id and wants none
//	delete405       refuses DELETE
//	delete-hang     never answers DELETE
//
// GET, whose answer is otherwise a stream of what belongs to no call
//
//	get405 get404 get400 get401   that status
//	get200json      200 with a JSON body
//	get-silent      never answers, not even with headers
//	get-close       closes the stream at once
//
// Notifications, whose answer is otherwise 202 without a body
//
//	note-204 note-200empty note-200null note-200obj note-202text
//
// Redirects of everything
//
//	redirect307 redirect308 redirect301 redirect302   to the same URL with a slash
//	redirect-loop   to the same URL for ever
//	redirect-cross  307 to -sibling
//	redirect-meta   307 to a link-local address
//	redirect-file   307 to a file: URL
//
// Calls
//
//	429 503         for the first -n calls, with Retry-After: 1
//	429-date        for the first -n calls, with an HTTP date a second or two ahead
//	429-long        always, with Retry-After: 3600
//	429-plain       always, without Retry-After
//	500-after       runs the tool, then 500
//	rst             runs the tool, then resets the connection
//	rst-each        the same for every -n-th call
//	hangup          runs the tool, then closes the connection after half the answer
//	call-202 call-html call-empty   2xx without an answer: 202; a web page; nothing
//	call-400        400 with a JSON-RPC error whose id is null
//	call-403        403 with a web page
//	gzip            answers compressed, asked or not
//	slow-body       half the answer, -delay, the rest
//
// Event streams
//
//	sse json        always a stream; never one (what is no answer is dropped then)
//	sse-multidata   a message over several data: lines
//	sse-crlf sse-cr lines end in CR LF, or in CR
//	sse-noevent     no event: line
//	sse-nospace     no space after the colons
//	sse-comment     comments before, within and after events
//	sse-bom         a byte order mark
//	sse-priming     an event with an id and no data first, and retry:
//	sse-unknown     events of an unknown type, and unknown fields
//	sse-split       writes that end between CR and LF, and inside a character
//	sse-noend       the stream ends without the blank line of its last event
//	sse-stall       headers, then nothing (tools/call only)
//	sse-trickle     a comment every 200 ms and never an answer (tools/call only)
//	sse-keepopen    the answer, and the stream stays open (tools/call only)
//
// TLS, with a certificate of its own for 127.0.0.1 that -certout writes as PEM
//
//	tls             valid
//	tls-expired     expired
//	tls-name        for another name
//
// # Tools
//
//	echo {text}     answers text
//	raw             answers the request's own bytes
//	rug             what x_rug rewrites
//	c_*             odd content; c_big {size} is that many bytes (default -size)
//	o_*             results beside an output schema
//	t_sleep {ms}, t_hang, t_progress {ms, step}, t_progress_forever
//	s_count, s_read, s_count_drop, s_count_once    count calls in -state
//	s_mark {id, ms} writes id to -state, takes ms, answers id
//	x_exit {code}, x_grow (adds x_grown), x_rug, x_env {names}, x_notify, x_log {text}
//	w_nonewline, w_late, w_stderrflood, w_raw {text}   odd writing
//	a_ping, a_roots, a_sampling, a_elicit, a_unknown, a_sameid, a_bigid   ask the client; the
//	arguments are the params of the question
//
// The tables are in content.go, schemas.go and effects.go.
package main
