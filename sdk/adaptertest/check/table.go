package check

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// check is one rule and how it is tried.
type check struct {
	number int
	name   string
	title  string
	advice string // what to do when it is not kept
	// configured: it can only be tried with a plugin that takes its settings.
	configured bool
	// limit bounds it, whatever the plugin does; the steps within have limits of their own.
	limit time.Duration
	run   func(ctx context.Context, s *subject) error
}

// checks are all of them. The order is the one a person repairs things in.
var checks []*check

func init() { // else the table and its functions would initialize each other
	checks = []*check{
		{1, "describe", "describe prints what the Describe RPC says, soon and without a network", "print the description as JSON from the same data the RPC answers with, before anything else is opened", false, minute, describes},
		{2, "identity", "name, version, features and variables are well-formed", "correct what Describe returns", false, minute, identity},
		{3, "config-schema", "config_schema is a usable JSON Schema of an object, with secrets marked", `declare the config as an object, and mark credentials with "x-collet-secret": true`, false, minute, schemaOfConfig},
		{4, "no-cookie", "started by hand it says what it is and exits with status 1", "look for COLLET_PLUGIN=adapter.v1 first; without it write one sentence to stderr and exit with status 1", false, minute, noCookie},
		{5, "stdout", "stdout carries the handshake and nothing else", "write everything but the handshake to stderr, and give child processes another stdout", false, minute, cleanStdout},
		{6, "bad-config", "a config that breaks its schema is refused with problems", "answer Configure with INVALID_ARGUMENTS and a FieldProblem for each mistake, and stay ready for another Configure", false, minute, badConfig},
		{7, "configure", "Configure returns at once, and Watch begins with a snapshot", "open the upstream in the background and report it with Watch; send a Snapshot first", false, minute, configures},
		{8, "list-tools", "ListTools is stable, sorted and well-formed", "sort tools by name, answer with the same bytes under the same revision, and give each a definition with its own name and an inputSchema", true, minute, listsTools},
		{9, "bad-arguments", "unknown tools and wrong arguments are refused, and the process lives on", "answer with a Failure of class NOT_FOUND or INVALID_ARGUMENTS", true, minute, badArguments},
		{10, "events", "a call ends in exactly one result, and its progress never falls", "send progress and log events first, then one result, then end the stream", true, minute, oneResult},
		{11, "cancel", "a canceled call is given up within a second, and nothing else is", "pass the RPC's context on to whatever the call waits for", true, minute, cancels},
		{12, "concurrent", "16 calls at once are all answered", "let calls run side by side, and keep what they share behind a lock", true, minute, concurrent},
		{13, "large-arguments", "8 MiB of arguments are accepted or refused politely", "raise the gRPC server's limit of received messages to 65 MiB", true, minute, largeArguments},
		{14, "faults", "each fault of the upstream gets the class it belongs to", "end the call with a status that carries a Failure of the class named; see docs/contract.md, Failures", false, 5 * time.Minute, faults},
		{15, "secrets", "no secret appears in stderr, messages or results", "leave values of settings out of logs and errors", false, minute, keepsSecrets},
		{16, "lease", "when the host is gone it leaves within a second, with its children", "read stdin with COLLET_LEASE=stdin set; at its end close the upstream and exit", false, minute, lease},
		{17, "shutdown", "after Shutdown it leaves by itself within two seconds", "close the upstream and exit with status 0 when go-plugin's Shutdown arrives", false, minute, shutdown},
		{18, "unknown-fields", "unknown fields of requests are ignored", "ignore what a newer host says", true, minute, unknownFields},
		{19, "environment", "it works with the variables it declares, and no others", "name the variables it reads in Describe's environment, or take settings from the config", false, minute, environment},
		{20, "two-processes", "two processes at once do not disturb each other", "use no fixed port and no fixed file; data_dir is each server's own", true, minute, twoProcesses},
		{21, "stopped", "after having been stopped for a while it answers", "do not take a pause for a failure of the host", true, minute, stopped},
		{22, "large-result", "a result of 32 MiB arrives whole", "raise the gRPC server's limit of sent messages to 65 MiB", true, minute, largeResult},
	}
	hookChecks = likeAdapters()
}

// minute bounds a check as a whole. It is never reached by a plugin that keeps to
// the limits of the single steps.
const minute = time.Minute

// verdict is what a check came to.
type verdict struct {
	status      Status
	why, advice string
}

// skipped is the error of a check that could not be tried.
type skipped struct{ why, advice string }

func (s *skipped) Error() string { return s.why }

// note is the error of a check that passed with something to tell.
type note struct{ text string }

func (n *note) Error() string { return n.text }

func skip(advice, format string, args ...any) error {
	return &skipped{fmt.Sprintf(format, args...), advice}
}

func passing(format string, args ...any) error { return &note{fmt.Sprintf(format, args...)} }

// carryOut runs one check, and sees to it that nothing of it is left.
func (s *subject) carryOut(ctx context.Context, c *check) (v verdict) {
	ctx, cancel := context.WithTimeout(ctx, s.patient(c.limit))
	defer cancel()
	defer s.sweep()
	// Our own mistake, brought out by a strange plugin, is no reason to leave its processes behind.
	defer func() {
		if r := recover(); r != nil {
			v = verdict{Failed, fmt.Sprintf("verify itself failed at this: %v\n%s", r, debug.Stack()), "report this to collet"}
		}
	}()
	err := s.usable(ctx, c)
	if err == nil {
		err = c.run(ctx, s)
	}
	return verdictOf(err)
}

// verdictOf is what the end of a check means.
func verdictOf(err error) verdict {
	var sk *skipped
	var n *note
	switch {
	case err == nil:
		return verdict{Passed, "", ""}
	case errors.As(err, &n):
		return verdict{Passed, n.text, ""}
	case errors.As(err, &sk):
		return verdict{Skipped, sk.why, sk.advice}
	}
	return verdict{Failed, err.Error(), ""}
}

// broken is an error whose first word may be the name of an RPC.
func broken(format string, args ...any) error { return fmt.Errorf(format, args...) }
