package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
)

type trustOptions struct {
	Streams  *terminal.Streams
	Discover func(dir string) (*host.Discovery, error)

	File              string // "" is the project's of the working directory
	Yes, List, Revoke bool
}

func newCmdTrust(f *Factory, runF func(context.Context, *trustOptions) error) *cobra.Command {
	opts := &trustOptions{Streams: f.Streams, Discover: f.discover}
	cmd := &cobra.Command{
		Use:   "trust [FILE]",
		Short: "Show what a project's mcp.toml would start, and trust it",
		Long: `Show what the mcp.toml of the working directory, or of its nearest parent that has one,
would start, and trust it. Without trust, a project's file has no effect. You trust this
content at this path: if the file changes, you have to trust it again. Files named by
--config or COLLET_CONFIG, and your own file, need no trust.`,
		Example: "  collet trust\n  collet trust --yes ~/src/project/mcp.toml\n  collet trust --list",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.File = args[0]
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return trustRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.Yes, "yes", false, "trust the file without asking")
	flags.BoolVar(&opts.List, "list", false, "list the files that you trusted or refused")
	flags.BoolVar(&opts.Revoke, "revoke", false, "stop trusting the file, or forget that you refused it")
	return cmd
}

func trustRun(ctx context.Context, opts *trustOptions) error {
	switch {
	case opts.Yes && opts.List, opts.Yes && opts.Revoke, opts.List && opts.Revoke:
		return usagef("--yes, --list and --revoke exclude each other")
	case opts.List && opts.File != "":
		return usagef("--list and FILE exclude each other")
	case opts.List:
		return trustList(opts)
	case opts.Revoke:
		return trustRevoke(ctx, opts)
	}
	found, file, err := projectFile(opts)
	if err != nil {
		return err
	}
	switch {
	case file.State == layer.Used:
		opts.Streams.Note("collet: %s is trusted already", visible(file.Path))
		return nil
	case file.Err != nil:
		return exitf(exitConfiguration, "%s: %v", visible(file.Path), file.Err)
	}
	offer := offered(found)
	if _, err := io.WriteString(opts.Streams.Out, offer.text); err != nil {
		return err
	}
	if note := othersMayWrite(file.Path); note != "" {
		opts.Streams.Note("collet: %s", note)
	}
	if !opts.Yes {
		if !opts.Streams.InTerminal || !opts.Streams.ErrTerminal {
			return exitf(exitAuth, "%s is not trusted: there is nobody to ask; --yes trusts it without asking", visible(file.Path))
		}
		answer, err := confirm(ctx, opts.Streams.In, opts.Streams.Err, offer.question(file))
		if err != nil {
			return err
		}
		if answer == replyNo {
			if err := found.Refuse(ctx); err != nil {
				return exitf(exitConfiguration, "%v", err)
			}
		}
		if answer != replyYes {
			return exitf(exitAuth, "%s is not trusted", visible(file.Path))
		}
	}
	if err := found.Trust(ctx); err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	opts.Streams.Note("collet: %s is trusted, as it is now", visible(file.Path))
	return nil
}

// projectFile is the project's file that is meant.
func projectFile(opts *trustOptions) (*host.Discovery, *layer.File, error) {
	want, dir := "", ""
	if opts.File != "" {
		var err error
		if want, err = projectPath(opts.File); err != nil {
			return nil, nil, err
		}
		dir = filepath.Dir(want)
	}
	found, err := opts.Discover(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range found.Files {
		if file.Layer == config.Project && (want == "" || file.Path == want) {
			return found, file, nil
		}
	}
	if want == "" {
		return nil, nil, exitf(exitConfiguration, "there is no project's mcp.toml here or in a parent directory, so nothing needs trust")
	}
	if _, err := os.Stat(want); err != nil {
		return nil, nil, exitf(exitConfiguration, "%s: %v", opts.File, err)
	}
	return nil, nil, exitf(exitConfiguration, "%s is your own file, which needs no trust", opts.File)
}

// projectPath is the name that trust in a file goes by. A directory stands for
// the mcp.toml in it.
func projectPath(file string) (string, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, layer.FileName)
	}
	if filepath.Base(file) != layer.FileName {
		return "", usagef("%s: a project's file is called %s; one named by --config needs no trust", file, layer.FileName)
	}
	return filepath.Join(layer.Canonical(filepath.Dir(file)), layer.FileName), nil
}

func trustList(opts *trustOptions) error {
	found, err := opts.Discover("")
	if err != nil {
		return err
	}
	store := found.Store()
	entries, err := store.List()
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	if len(entries) == 0 {
		opts.Streams.Note("collet: no project's file has been trusted or refused yet")
		return nil
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		state := "trusted"
		switch file := layer.Project(e.Path, store); {
		case file.State == layer.Unreadable:
			state = "gone"
		case file.Refused:
			state = "refused"
		case file.State != layer.Used:
			state = "changed"
		}
		rows = append(rows, []string{state, e.When.Format(time.DateOnly), fmt.Sprintf("%x", e.Sum[:4]), e.Path})
	}
	return opts.Streams.Table([]string{"STATE", "SINCE", "SHA256", "FILE"}, rows)
}

func trustRevoke(ctx context.Context, opts *trustOptions) error {
	found, err := opts.Discover("")
	if err != nil {
		return err
	}
	path := ""
	if opts.File != "" {
		if path, err = projectPath(opts.File); err != nil {
			return err
		}
	} else {
		_, file, err := projectFile(opts)
		if err != nil {
			return err
		}
		path = file.Path
	}
	was, err := found.Store().Revoke(ctx, path)
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	if !was {
		return exitf(exitNotFound, "%s is not on the list of 'collet trust --list'", visible(path))
	}
	opts.Streams.Note("collet: %s is no longer trusted", visible(path))
	return nil
}

// othersMayWrite warns of a file that anybody may change. They gain nothing by
// it, a changed file is not trusted, but its owner may not know.
func othersMayWrite(path string) string {
	if info, err := os.Stat(path); err == nil && os.PathSeparator == '/' && info.Mode().Perm()&0o002 != 0 {
		return visible(path) + " can be written by anybody on this machine; 'chmod o-w' it, or a change by others makes you trust it again"
	}
	return ""
}
