package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/clientedit"
	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/rewrite"
)

type connectOptions struct {
	Streams *terminal.Streams
	Getenv  func(string) string
	Around  func() clientfile.Surroundings
	Program func() (string, error)
	// Servers is how many servers the collet that the client starts has.
	Servers func(context.Context) (int, error)

	Client                  clientfile.Client
	Config                  string // "": what collet finds by itself
	Entry                   clientedit.Entry
	File                    string // "": by Client and Project
	Project, Remove, DryRun bool
}

// entryName is what every client takes as the name of a server.
var entryName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// variableName is what POSIX allows as the name of an environment variable.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func newCmdConnect(f *Factory, runF func(context.Context, *connectOptions) error) *cobra.Command {
	opts := &connectOptions{Streams: f.Streams, Getenv: f.Getenv, Around: surroundings, Program: program}
	opts.Servers = func(ctx context.Context) (int, error) {
		c, err := f.configuration(ctx)
		if err != nil {
			return 0, err
		}
		return len(c.Servers), nil
	}
	clients := strings.Join(clientedit.Clients(), ", ")
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Add collet to the configuration of an MCP client",
		Long: `Add collet to the configuration of an MCP client, which then starts 'collet serve' or,
with --url, connects to a collet that serves over HTTP.

collet changes your own configuration file of the client or, with --project, the
project's in the working directory. Comments and layout stay. The old file is kept
beside the new one, with .bak appended to its name. Running the command again brings
the entry up to date.

Clients: ` + clients,
		Example: "  collet connect claude-code\n  collet connect vscode --project --dry-run\n" +
			"  collet connect cursor --url http://127.0.0.1:8080/mcp --token-env COLLET_TOKEN\n  collet connect codex --remove",
		Args: exactly(1, "the CLIENT, one of "+clients+","),
		ValidArgsFunction: firstOnly(func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return clientedit.Clients(), cobra.ShellCompDirectiveNoFileComp
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.read(args[0]); err != nil {
				return err
			}
			opts.Config = f.named()
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return connectRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Entry.Name, "name", "collet", "the name of the entry")
	flags.BoolVar(&opts.Project, "project", false, "change the file of the project in the working directory")
	flags.StringVar(&opts.File, "file", "", "change this `FILE` of the client")
	flags.StringVar(&opts.Entry.URL, "url", "", "connect to the collet at this `URL` instead of starting one")
	flags.StringVar(&opts.Entry.TokenEnv, "token-env", "", "the `VARIABLE` in the client's environment that holds the bearer token for --url")
	flags.BoolVar(&opts.Remove, "remove", false, "remove the entry again")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "print what would be changed, but write nothing")
	completeFlag(cmd, "name", words("collet"))
	completeFlag(cmd, "url", words())
	completeFlag(cmd, "token-env", words())
	if err := cmd.MarkFlagFilename("file"); err != nil {
		panic(err)
	}
	return cmd
}

// read looks at the words of the command line.
func (opts *connectOptions) read(client string) error {
	var ok bool
	if opts.Client, ok = clientfile.Named(client); !ok {
		return usagef("no client is called %q; clients are %s", client, strings.Join(clientedit.Clients(), ", "))
	}
	e := opts.Entry
	switch {
	case !opts.Remove && !entryName().MatchString(e.Name):
		return usagef("--name %q: it is made of letters, digits, - and _, at most 64", e.Name)
	case opts.Project && opts.File != "":
		return usagef("--project and --file exclude each other")
	case opts.Remove && e.URL != "":
		return usagef("--remove and --url exclude each other: --remove goes by the name of the entry")
	case e.TokenEnv != "" && e.URL == "":
		return usagef("--token-env needs --url")
	case e.TokenEnv != "" && !variableName().MatchString(e.TokenEnv):
		return usagef("--token-env takes the name of a variable, not the token itself")
	}
	if e.URL != "" {
		if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--url %s: it is something like http://127.0.0.1:8080/mcp", e.URL)
		}
	}
	return nil
}

// program is the collet that runs, by the path that survives an update: the one on
// PATH may be a link that the next version moves.
func program() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath(os.Args[0])
	if err != nil {
		return own, nil
	}
	if found, err = filepath.Abs(found); err != nil {
		return own, nil
	}
	a, err := os.Stat(own)
	if err != nil {
		return own, nil
	}
	if b, err := os.Stat(found); err == nil && os.SameFile(a, b) {
		return found, nil
	}
	return own, nil
}

func connectRun(ctx context.Context, opts *connectOptions) error {
	around := opts.Around()
	places := clientfile.Places(around, opts.Getenv)
	file := clientedit.File{Client: opts.Client.Name, Path: opts.File, Around: around}
	if file.Path == "" {
		place, ok := clientedit.Choose(places, opts.Client.Name, opts.Project, isDir)
		if !ok && opts.Project && around.WorkDir == around.Home {
			return usagef("--project: this is your home directory; run it in the project")
		}
		if !ok && opts.Project {
			return usagef("%s has no files of projects", opts.Client.Title)
		}
		if !ok {
			return exitf(exitConfiguration, "%s has no known configuration here; name its file with --file", opts.Client.Title)
		}
		file.Path = place.Path
	}
	var err error
	if file.Data, err = rewrite.Read(file.Path, clientfile.MaxFile); err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	plan, err := opts.plan(file, places)
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	if err := opts.carryOut(file, plan); err != nil || opts.Remove || opts.Entry.URL != "" {
		return err
	}
	// The client would only say that its server has ended.
	if n, err := opts.Servers(ctx); err != nil {
		opts.Streams.Note("collet: it cannot serve yet: %v", err)
	} else if n == 0 {
		opts.Streams.Note("collet: it has no servers yet; 'collet config import' adds those of other clients")
	}
	return nil
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// plan is what has to be changed.
func (opts *connectOptions) plan(file clientedit.File, places []clientfile.Place) (*clientedit.Plan, error) {
	if opts.Remove {
		return clientedit.Disconnect(file, opts.Entry.Name)
	}
	e := opts.Entry
	if e.URL == "" {
		var err error
		if e.Command, err = opts.Program(); err != nil {
			return nil, fmt.Errorf("cannot find the path of the collet program: %w", err)
		}
		e.Args = []string{"serve"}
		if opts.Config != "" {
			config, err := filepath.Abs(opts.Config)
			if err != nil {
				return nil, err
			}
			e.Args = append(e.Args, "--config", config)
		}
	}
	for _, p := range places {
		if p.Client == file.Client && p.Path != file.Path {
			if err := refuseTwice(p, file.Around, e); err != nil {
				return nil, err
			}
		}
	}
	return clientedit.Connect(file, e)
}

// refuseTwice refuses an entry for a collet that another file of the client has
// under another name: the client would show every tool twice. An entry of the same
// name is fine, the project's counts. A file that cannot be read has its own trouble.
func refuseTwice(p clientfile.Place, around clientfile.Surroundings, e clientedit.Entry) error {
	data, err := rewrite.Read(p.Path, clientfile.MaxFile)
	if err != nil || data == nil {
		return nil
	}
	other, err := clientfile.Read(p.Path, data, p.Client, around)
	if err != nil {
		return nil
	}
	for _, s := range other.Servers {
		if s.Name != e.Name && clientedit.Same(s, e) {
			return fmt.Errorf("%s has this collet already, as %q: --name %s gives it one name in both files", p.Path, s.Name, s.Name)
		}
	}
	return nil
}

// carryOut makes the change, or shows it.
func (opts *connectOptions) carryOut(file clientedit.File, plan *clientedit.Plan) error {
	s := opts.Streams
	path, err := filepath.Abs(file.Path)
	if err != nil {
		path = file.Path
	}
	if plan.Action == clientedit.Unchanged {
		what := "has collet already, as it should be"
		if opts.Remove {
			what = fmt.Sprintf("has no server %q", opts.Entry.Name)
		}
		s.Note("collet: %s %s", path, what)
		return nil
	}
	if opts.DryRun {
		_, err := io.WriteString(s.Out, s.Text(differences(path, plan.Before, plan.After)))
		return err
	}
	backup, err := rewrite.Keep(file.Path, plan.Before)
	if err == nil {
		err = rewrite.File(file.Path, plan.Before, plan.After)
	}
	if err != nil {
		if backup != nil && backup.Made {
			err = errors.Join(err, os.Remove(backup.Path))
		}
		return exitf(exitConfiguration, "%v", err)
	}
	if backup != nil && backup.Made {
		s.Note("collet: the old file is kept in %s", backup.Path)
	} else if backup != nil {
		s.Note("collet: %s is an older copy and stays as it is", backup.Path)
	}
	if _, err := fmt.Fprintf(s.Out, "%s %s: %s\n", plan.Action, opts.Entry.Name, s.Text(path)); err != nil {
		return err
	}
	if opts.Project && opts.Entry.URL == "" && !opts.Remove {
		s.Note("collet: the entry has the path of collet on this machine; others who share the file may have it elsewhere")
	}
	s.Note("collet: %s reads its file when it starts, or when its servers are reloaded", opts.Client.Title)
	return nil
}
