package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// report says why a command failed: with --json in an envelope on stdout, so
// that whoever asked for JSON always gets one object, else on stderr.
func (f *Factory) report(cmd *cobra.Command, args []string, err error) {
	var exit *exitError
	if err == nil || errors.As(err, &exit) && exit.message == "" {
		return // everything has been said
	}
	if wantsJSON(cmd, args) && printJSON(f.Streams, envelope(toolOf(cmd), nil, failureOf(err))) == nil {
		return
	}
	var (
		usage *usageError
		fail  *host.Failure
	)
	switch {
	case err == context.Canceled: // who pressed Ctrl-C knows
	case errors.As(err, &fail):
		if slices.Contains(f.told, fail.Message) {
			short := *fail
			short.Message = "its configuration is wrong, see above"
			fail = &short
		}
		printFailure(f.Streams, fail)
	case errors.As(err, &usage):
		f.Streams.Note("collet: %v\nRun '%s --help' for usage.", err, cmd.CommandPath())
	default:
		f.Streams.Note("collet: %v", err)
	}
}

// wantsJSON says whether --json is among args. The flag itself does not know when
// what stands before it could not be parsed.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("json")
	if flag == nil || flag.Changed {
		return flag != nil && flag.Value.String() == "true"
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--json="); ok {
			yes, err := strconv.ParseBool(value)
			return yes && err == nil
		}
		if arg == "--json" {
			return true
		}
	}
	return false
}

// toolArgument is how a command's Use names a tool.
const toolArgument = "SERVER/TOOL"

// toolOf is the tool that the command line names, empty when it names none.
func toolOf(cmd *cobra.Command) string {
	if !strings.Contains(cmd.Use, toolArgument) {
		return ""
	}
	return cmd.Flags().Arg(0)
}

// classOf is the class of an error that is not a failure of a call, by its exit
// code. A fault of the configuration is an invalid argument, as one of an entry is.
var classOf = map[int]failure.Class{
	exitUsage:         failure.InvalidArguments,
	exitConfiguration: failure.InvalidArguments,
	exitAuth:          failure.ConsentRequired, // to what is in a project's file
	exitResult:        failure.InvalidResult,
	exitNotFound:      failure.NotFound,
	exitCanceled:      failure.Canceled,
}

// failureOf is any error as the failure of an envelope.
func failureOf(err error) *host.Failure {
	var fail *host.Failure
	if errors.As(err, &fail) {
		return fail
	}
	fail = &host.Failure{Failure: *failure.New(classOf[exitCode(err)], failure.NotSent, "%v", err)}
	fail.Origin = failure.OriginHost
	return fail
}
