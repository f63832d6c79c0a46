package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/configedit"
)

type configImportOptions struct {
	Streams *terminal.Streams
	Getenv  func(string) string
	Around  func() clientfile.Surroundings

	From   []string // clients or files; empty: all clients
	To     string   // "": the file that collet reads
	Prefix string
	DryRun bool
}

func newCmdConfigImport(f *Factory, runF func(context.Context, *configImportOptions) error) *cobra.Command {
	opts := &configImportOptions{Streams: f.Streams, Getenv: f.Getenv, Around: surroundings}
	clients := strings.Join(clientfile.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Add the servers of other MCP clients to mcp.toml",
		Long: `Add the servers of other MCP clients to mcp.toml.

Without --from, collet reads your own files of all clients. The files of a project may
come from strangers, so collet reads them only if you name them, as in
--from .vscode/mcp.json.

Whatever is in mcp.toml stays as it is, and no server is replaced: running the command
again adds nothing. stderr says what was changed on the way and what has no counterpart.

Clients: ` + clients,
		Example: "  collet config import --dry-run\n  collet config import --from claude-code --from .vscode/mcp.json",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.To == "" {
				var err error
				if opts.To, err = f.userFile(); err != nil {
					return err
				}
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return configImportRun(opts)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.From, "from", nil, "a client or a file; can be repeated (default: all clients)")
	flags.StringVar(&opts.To, "to", "", "the mcp.toml to add to (default: --config, $COLLET_CONFIG or your own)")
	flags.StringVar(&opts.Prefix, "name-prefix", "", "prefix for the names of the added servers")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "print what would be added, but write nothing")
	// A flag that exists cannot fail to be completed.
	_ = cmd.RegisterFlagCompletionFunc("from", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return clientfile.Names(), cobra.ShellCompDirectiveDefault
	})
	return cmd
}

// userFile is the mcp.toml that a person means who names none.
func (f *Factory) userFile() (string, error) {
	if file := cmp.Or(f.configFile, f.Getenv("COLLET_CONFIG")); file != "" {
		return file, nil
	}
	if f.homeless != nil {
		return "", exitf(exitConfiguration, "%v", f.homeless)
	}
	return filepath.Join(xdg.ConfigHome, "collet", "mcp.toml"), nil
}

// surroundings are those of the process; what is not known stays empty.
func surroundings() (around clientfile.Surroundings) {
	around.Home, _ = os.UserHomeDir()
	around.WorkDir, _ = os.Getwd()
	return around
}

func configImportRun(opts *configImportOptions) error {
	sources, broken, err := readSources(opts)
	if err != nil {
		return err
	}
	before, err := configedit.Read(opts.To)
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	plan, err := configedit.New(opts.To, before, sources, opts.Prefix)
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	for _, o := range plan.Outcomes {
		tellOutcome(opts, o)
	}
	if opts.DryRun {
		if _, err := io.WriteString(opts.Streams.Out, opts.Streams.Text(string(plan.Text))); err != nil {
			return err
		}
	} else {
		if err := plan.Write(); err != nil {
			return exitf(exitConfiguration, "%v", err)
		}
		for _, o := range plan.Outcomes {
			if o.Action == configedit.Added {
				if _, err := fmt.Fprintf(opts.Streams.Out, "added %s\n", o.Name); err != nil {
					return err
				}
			}
		}
	}
	tellSum(opts, plan)
	if broken {
		return quiet(exitConfiguration)
	}
	return nil
}

// readSources reads the files that --from names, or those of all clients. broken
// is whether one that is there could not be read; the others count.
func readSources(opts *configImportOptions) (sources []*clientfile.File, broken bool, err error) {
	around := opts.Around()
	places := clientfile.Places(around, opts.Getenv)
	read := func(path, client string) (found bool) {
		data, err := readBounded(path)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		var file *clientfile.File
		if err == nil {
			file, err = clientfile.Read(path, data, client, around)
		}
		if err != nil {
			opts.Streams.Note("collet: %s: %v", path, err)
			broken = true
			return true
		}
		opts.Streams.Note("collet: %s: %s in %s", file.Client.Title, count(len(file.Servers), "server"), file.Path)
		for _, n := range file.Notes {
			opts.Streams.Note("collet: %s: %s", file.Path, n)
		}
		file.Servers = slices.DeleteFunc(file.Servers, func(s clientfile.Server) bool {
			own := s.IsCollet() // collet would start collet, which would start collet
			if own {
				opts.Streams.Note("collet: %s: left out: it is collet itself", s.Name)
			}
			return own
		})
		sources = append(sources, file)
		return true
	}
	all := func(client string) (found bool) {
		for _, p := range places {
			if !p.Project && (client == "" || p.Client == client) {
				found = read(p.Path, p.Client) || found
			}
		}
		return found
	}
	if len(opts.From) == 0 {
		if !all("") {
			opts.Streams.Note("collet: no other client has a configuration here; name a file with --from FILE")
		}
		tellProjects(opts, places, around.WorkDir)
	}
	for _, from := range opts.From {
		if c, ok := clientfile.Named(from); ok {
			if !all(c.Name) {
				return nil, false, exitf(exitConfiguration, "%s has no configuration here; name its file with --from FILE", c.Title)
			}
			continue
		}
		if !read(from, "") {
			message := fmt.Sprintf("--from %s: there is no such file", from)
			if !strings.ContainsAny(from, `./\`) {
				message += ", nor a client of that name; clients are " + strings.Join(clientfile.Names(), ", ")
			}
			return nil, false, exitf(exitConfiguration, "%s", message)
		}
	}
	return sources, broken, nil
}

// readBounded reads at most one byte more than clientfile takes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, clientfile.MaxFile+1))
}

// tellProjects tells of files in the working directory. A checkout may come from
// strangers, whose commands would be trusted once they are in the user's file.
func tellProjects(opts *configImportOptions, places []clientfile.Place, dir string) {
	for _, p := range places {
		if !p.Project {
			continue
		}
		if _, err := os.Stat(p.Path); err != nil {
			continue
		}
		short, err := filepath.Rel(dir, p.Path)
		if err != nil {
			short = p.Path
		}
		opts.Streams.Note("collet: %s belongs to this project and is left out; if you trust it, import it with --from %s", short, short)
	}
}

// tellOutcome tells on stderr what becomes of a server and what was changed.
func tellOutcome(opts *configImportOptions, o configedit.Outcome) {
	called := o.Name
	if o.Server.Name != o.Name {
		called = fmt.Sprintf("%s (%q in %s)", o.Name, o.Server.Name, o.From.Client.Title)
	}
	switch o.Action {
	case configedit.Present:
		opts.Streams.Note("collet: %s: already there", called)
		return // its notes were told when it was added
	case configedit.Conflict:
		opts.Streams.Note("collet: %s: left out: %s; --name-prefix gives it another name", called, o.Reason)
		return
	case configedit.Invalid:
		opts.Streams.Note("collet: %s: left out: %s", called, o.Reason)
		return
	}
	if called != o.Name && o.Name != opts.Prefix+o.Server.Name {
		opts.Streams.Note("collet: %s: renamed, as it cannot keep its name", called)
	}
	for _, n := range o.Server.Notes {
		opts.Streams.Note("collet: %s: %s", o.Name, n)
	}
}

// tellSum tells on stderr how many servers went which way, and whether others can
// read what may be secrets.
func tellSum(opts *configImportOptions, plan *configedit.Plan) {
	number := map[configedit.Action]int{}
	secrets := false
	for _, o := range plan.Outcomes {
		number[o.Action]++
		secrets = secrets || o.Action == configedit.Added && len(o.Server.Env)+len(o.Server.Headers) > 0
	}
	verb := "added"
	if opts.DryRun {
		verb = "would be added"
	}
	message := fmt.Sprintf("%s %s to %s", count(number[configedit.Added], "server"), verb, plan.File)
	if n := number[configedit.Present]; n > 0 {
		message += fmt.Sprintf(", %d already there", n)
	}
	if n := number[configedit.Conflict] + number[configedit.Invalid]; n > 0 {
		message += fmt.Sprintf(", %d left out", n)
	}
	opts.Streams.Note("collet: %s", message)
	if fi, err := os.Stat(plan.File); err == nil && secrets && runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		opts.Streams.Note("collet: %s can be read by other users and may hold secrets now; 'chmod 600' it", plan.File)
	}
}

// count is "1 server" or "3 servers".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
