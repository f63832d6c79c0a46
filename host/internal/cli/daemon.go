package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/control"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

const (
	// daemonStart bounds the start of a host in the background.
	daemonStart = 15 * time.Second
	// daemonStop bounds its stop: what it is doing, and then its servers.
	daemonStop = 30 * time.Second
	// lostWait is how long a host stays that nobody can find: until a file is whole again.
	lostWait = time.Minute
	// stopDrain is how long what others have asked may take to be answered at a stop.
	stopDrain = 10 * time.Second
)

func newCmdDaemon(f *Factory) *cobra.Command {
	cmd := group("daemon <command>", "Keep a host running that commands use",
		"  collet daemon start\n  collet tools call files/read_text_file path=notes.md\n  collet daemon stop",
		newCmdDaemonStart(f), newCmdDaemonStatus(f), newCmdDaemonStop(f), newCmdDaemonRun(f))
	cmd.Long = `A host in the background keeps servers running once they have been used. Commands with
the same configuration and environment use it, and then do not wait for servers to
start. A running 'collet serve' is such a host too.

With daemon = "auto" in [host] of mcp.toml the first command starts a host, which ends
when nobody has used it for daemon_idle (10m).`
	return cmd
}

type daemonOptions struct {
	f       *Factory
	Streams *terminal.Streams
	JSON    bool

	layers []host.Layer // those that count; find sets them
}

// find is the place of the configuration, and who is there; nil for nobody.
func (opts *daemonOptions) find(ctx context.Context) (control.Place, *control.Client, error) {
	f := opts.f
	if f.homeless != nil {
		return control.Place{}, nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	layers, err := f.counting(ctx, true)
	if err != nil {
		return control.Place{}, nil, err
	}
	opts.layers = layers
	place, ok := f.place(layers)
	if !ok {
		_, err := f.openLayers(ctx, layers)
		if err == nil {
			err = exitf(exitConfiguration, "no host can be shared for %s: it is no regular file", f.named())
		}
		return place, nil, err
	}
	dialing, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	c, err := control.Dial(dialing, place, control.Build(f.Version))
	if refused, ok := errors.AsType[*control.RefusedError](err); ok {
		return place, nil, exitf(exitUnreachable, "%v; commands do without it", refused)
	}
	switch silent, ok := errors.AsType[*control.SilentError](err); {
	case err == nil || errors.Is(err, control.ErrOther):
		return place, c, err
	case ok && ctx.Err() == nil:
		next := "end its process"
		if silent.Pid != 0 {
			next = "'kill -9 " + strconv.Itoa(silent.Pid) + "' ends it"
		}
		return place, nil, exitf(exitUnreachable, "%v; commands do without it. If that does not pass, %s", silent, next)
	}
	if pid, held := control.Holder(place); held && ctx.Err() == nil {
		return place, nil, unreachable(pid)
	}
	return place, nil, ctx.Err()
}

func newCmdDaemonStart(f *Factory) *cobra.Command {
	opts := &daemonOptions{f: f, Streams: f.Streams}
	return &cobra.Command{
		Use:   "start",
		Short: "Start a host in the background, unless there is one",
		Args:  exactly(0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return daemonStartRun(cmd.Context(), opts) },
	}
}

func daemonStartRun(ctx context.Context, opts *daemonOptions) error {
	place, c, err := opts.find(ctx)
	switch {
	case c != nil && err == nil:
		defer c.Close()
		if c.Welcome.Serve {
			opts.tellServe(c)
		} else {
			opts.Streams.Note("collet: a host is running already, pid %d", c.Welcome.Pid)
		}
		return nil
	case c != nil: // of another build: the new one takes its place
		err = c.Yield(ctx)
		c.Close()
		if err != nil {
			return exitf(exitUnreachable, "the running host (pid %d) does not give way: %v", c.Welcome.Pid, err)
		}
	case err != nil:
		return err
	}
	if c, err = opts.f.startDaemon(ctx, place, opts.layers, daemonStart); c == nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer c.Close()
	for _, p := range c.Problems() {
		opts.Streams.Note("collet: %s", problemText(p))
	}
	if c.Welcome.Serve {
		opts.tellServe(c)
	} else {
		opts.Streams.Note("collet: a host is running, pid %d", c.Welcome.Pid)
	}
	return nil
}

func (opts *daemonOptions) tellServe(c *control.Client) {
	opts.Streams.Note("collet: a 'collet serve' (pid %d) is the host of this configuration", c.Welcome.Pid)
}

func newCmdDaemonStatus(f *Factory) *cobra.Command {
	opts := &daemonOptions{f: f, Streams: f.Streams}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether a host is running for this configuration, and how its servers are",
		Long: `Say whether a host is running for this configuration, and how its servers are. The
exit code is 4 when there is none.`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return daemonStatusRun(cmd.Context(), opts) },
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"running","pid","version","sameBuild","since","clients","log","servers":[{"name","state","plugin","error","pid"}]}`)
	return cmd
}

func daemonStatusRun(ctx context.Context, opts *daemonOptions) error {
	_, c, err := opts.find(ctx)
	other := errors.Is(err, control.ErrOther)
	if err != nil && !other {
		return err
	}
	var o rawjson.Object
	o.Bool("running", c != nil)
	if c == nil {
		if !opts.JSON {
			return exitf(exitUnreachable, "no host is running for this configuration in this environment")
		}
		if err := printJSON(opts.Streams, o.Bytes()); err != nil {
			return err
		}
		return quiet(exitUnreachable)
	}
	defer c.Close()
	w := &c.Welcome
	s := &control.Status{Pid: w.Pid, Version: w.Version, Since: w.Since, Servers: w.Servers}
	if !other {
		if s, err = c.Status(ctx); err != nil {
			return exitf(exitUnreachable, "%v", err)
		}
	}
	if opts.JSON {
		o.Int("pid", int64(s.Pid))
		o.String("version", s.Version)
		o.Bool("sameBuild", !other)
		o.String("since", s.Since.UTC().Format(time.RFC3339))
		if w.Log != "" {
			o.String("log", w.Log)
		}
		if !other { // it does not say more to another build
			o.Int("clients", int64(s.Clients))
			o.Raw("servers", runningJSON(s.Servers))
		}
		return printJSON(opts.Streams, o.Bytes())
	}
	line := fmt.Sprintf("pid %d, collet %s, for %s", s.Pid, opts.Streams.Text(s.Version), host.Age(s.Since))
	if !other {
		line += ", " + clientsText(s.Clients)
	}
	if _, err := fmt.Fprintln(opts.Streams.Out, line); err != nil {
		return err
	}
	if w.Log != "" {
		if _, err := fmt.Fprintf(opts.Streams.Out, "log %s\n", opts.Streams.Text(w.Log)); err != nil {
			return err
		}
	}
	if other {
		opts.Streams.Note("collet: it is another build than this one, and not used; 'collet daemon start' puts this one in its place")
	}
	rows := make([][]string, 0, len(s.Servers))
	for i := range s.Servers {
		server := &s.Servers[i]
		pid := ""
		if server.Pid != 0 {
			pid = strconv.Itoa(server.Pid)
		}
		rows = append(rows, []string{server.Name, server.State, pid, server.Error})
	}
	if len(rows) == 0 {
		return nil
	}
	return opts.Streams.Table([]string{"NAME", "STATE", "PID", "ERROR"}, rows)
}

func clientsText(n int) string {
	if n == 1 {
		return "1 client"
	}
	return strconv.Itoa(n) + " clients"
}

func newCmdDaemonStop(f *Factory) *cobra.Command {
	opts := &daemonOptions{f: f, Streams: f.Streams}
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the host in the background",
		Long: `Stop the host in the background. Calls in flight get up to 10 seconds to finish;
clients of MCP that wait for nothing go on without it at once. A 'collet serve' is not
stopped: it ends with its own client.`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return daemonStopRun(cmd.Context(), opts) },
	}
}

func daemonStopRun(ctx context.Context, opts *daemonOptions) error {
	_, c, err := opts.find(ctx)
	if c == nil {
		if err == nil {
			opts.Streams.Note("collet: no host is running for this configuration in this environment")
		}
		return err
	}
	defer c.Close()
	limit, cancel := context.WithTimeout(ctx, daemonStop)
	defer cancel()
	switch err := c.Stop(limit); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return exitf(exitUnreachable, "stop the host (pid %d): %v", c.Welcome.Pid, err)
	}
	opts.Streams.Note("collet: the host has ended, pid %d", c.Welcome.Pid)
	return nil
}

func newCmdDaemonRun(f *Factory) *cobra.Command {
	background := false
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the host that 'daemon start' starts, in the foreground",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := ""
			if background && f.homeless == nil {
				b, err := openBackground(backgroundLog())
				if err == nil { // else it does without, as nobody could be told
					f.Streams.Err, log = b, b.path
				}
			}
			return daemonRun(cmd.Context(), f, log)
		},
	}
	cmd.Flags().BoolVar(&background, "background", false, "nobody reads stderr: it goes to the log of hosts in the background")
	if err := cmd.Flags().MarkHidden("background"); err != nil {
		panic(err)
	}
	return cmd
}

// exitOwned is how a host ends that found another one there.
const exitOwned = exitUnreachable

func daemonRun(ctx context.Context, f *Factory, log string) error {
	if f.homeless != nil {
		return exitf(exitConfiguration, "%v", f.homeless)
	}
	// Of many that start at once all but one end before they have opened anything.
	owner, err := f.own(ctx)
	switch {
	case errors.Is(err, control.ErrOwned):
		return exitf(exitOwned, "%v; 'collet daemon status' shows it", err)
	case errors.Is(err, errNotShared):
		owner = nil // whoever opens the host tells what is wrong with the configuration
	case err != nil:
		return exitf(exitConfiguration, "%v", err)
	}
	h, err := f.openServing(ctx)
	if err == nil && owner == nil {
		err = exitf(exitConfiguration, "no host can be shared for %s: it is no regular file", f.named())
		h.Close()
	}
	if err != nil {
		if owner != nil {
			owner.Release()
		}
		return err
	}
	defer h.Close()
	front := &lateFace{open: h.Front}
	f.log = log
	shared := f.shareAt(ctx, owner, h, front.ServeStdio, true)
	defer shared.close()
	defer shared.finish(ctx, stopDrain, front)
	layers, err := f.quietly(ctx)
	if err != nil {
		return err
	}
	idle := time.Duration(0)
	if d, auto := f.auto(layers); auto {
		idle = d
	}
	shared.wait(ctx, idle)
	return nil
}

// wait waits until the host has to end: when ctx ends or somebody wants it, when
// another has its place and nobody is left, and with idle when nobody was there for so
// long.
func (s *sharing) wait(ctx context.Context, idle time.Duration) {
	yielded := false // nobody new comes
	for {
		n, changed := s.server.Clients()
		if n == 0 && yielded {
			return
		}
		var over <-chan time.Time
		switch {
		case n > 0:
		case !s.server.Shared():
			over = time.After(lostWait)
		case idle > 0:
			over = time.After(idle)
		}
		gone := s.yielded
		if yielded {
			gone = nil
		}
		select {
		case <-changed:
		case <-over:
			// Who comes at this moment is either served or turned away.
			s.server.Move(nil)
			yielded = true
		case <-gone:
			yielded = true
		case <-ctx.Done():
			return
		case <-s.stop:
			return
		}
	}
}
