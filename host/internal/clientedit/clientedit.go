// Package clientedit puts collet into the configuration files of MCP clients, and
// takes it out again: JSON with comments (Claude, VS Code, Cursor, Windsurf, Gemini
// CLI, Zed) and TOML (Codex). Few bytes are changed: comments, order and layout of
// everything else stay.
//
// It writes no file itself, knows nothing of mcp.toml, and proposes no change after
// which the file would say anything else about anybody else's servers.
package clientedit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/clientfile"
)

// Entry is how a client reaches a collet: by Command, or at URL.
type Entry struct {
	Name    string // of the entry
	Command string // absolute path
	Args    []string
	URL     string
	// TokenEnv names the variable that holds the bearer token for URL; "" for none.
	TokenEnv string
}

// Action is what becomes of an entry.
type Action string

// The actions.
const (
	Added     Action = "added"
	Updated   Action = "updated"
	Removed   Action = "removed"
	Unchanged Action = "unchanged" // it is as it should be already
)

// Plan is a change of one file, not made yet.
type Plan struct {
	Action        Action
	Before, After []byte
}

// File is a client's file as it is.
type File struct {
	Client string // its name, one of Clients
	Path   string
	Data   []byte // nil when there is none
	Around clientfile.Surroundings
}

// Clients are the names of the clients that can be connected.
func Clients() (list []string) {
	for _, n := range clientfile.Names() {
		if _, ok := dialects[n]; ok {
			list = append(list, n)
		}
	}
	return list
}

// Connect plans that the client starts or dials the collet of e. The error is a
// file that cannot be changed, an entry of that name that is something else, or the
// same collet under another name.
func Connect(f File, e Entry) (*Plan, error) {
	d, servers, err := f.read()
	if err != nil {
		return nil, err
	}
	members, err := d.entry(e)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Action: Added, Before: f.Data}
	if f.has(d.servers, e.Name) {
		plan.Action = Updated
	}
	for _, s := range servers {
		switch {
		case s.Name == e.Name && !own(s, e):
			return nil, fmt.Errorf("%s: %q is another server there; --name gives collet another name", f.Path, e.Name)
		case s.Name != e.Name && Same(s, e):
			return nil, fmt.Errorf("%s: has this collet already, as %q: use --name %s, or --remove --name %s first", f.Path, s.Name, s.Name, s.Name)
		}
	}
	table := []string{d.servers}
	edit := jsonText{data: f.Data}.connect
	if d.toml {
		edit = tomlText{data: f.Data}.connect
	}
	if plan.After, err = edit(table, e.Name, members, d.others(e)); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if string(plan.After) == string(plan.Before) {
		plan.Action = Unchanged
		return plan, nil
	}
	return plan, f.verify(plan.After, table, e.Name, func(now []clientfile.Server) bool {
		return slices.ContainsFunc(now, func(s clientfile.Server) bool { return s.Name == e.Name && Same(s, e) })
	})
}

// Disconnect plans that the entry of that name is gone.
func Disconnect(f File, name string) (*Plan, error) {
	d, servers, err := f.read()
	if err != nil {
		return nil, err
	}
	plan := &Plan{Action: Removed, Before: f.Data}
	i := slices.IndexFunc(servers, func(s clientfile.Server) bool { return s.Name == name })
	switch {
	case i < 0:
		plan.Action, plan.After = Unchanged, f.Data
		return plan, nil
	case !own(servers[i], Entry{URL: servers[i].URL}):
		return nil, fmt.Errorf("%s: %q is another server there, which stays", f.Path, name)
	}
	table := []string{d.servers}
	if d.toml {
		plan.After, err = tomlText{data: f.Data}.remove(append(slices.Clone(table), name))
	} else {
		plan.After, err = jsonText{data: f.Data}.remove(append(slices.Clone(table), name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return plan, f.verify(plan.After, table, name, func(now []clientfile.Server) bool {
		return !slices.ContainsFunc(now, func(s clientfile.Server) bool { return s.Name == name })
	})
}

// read reads the servers that are in the file.
func (f File) read() (dialect, []clientfile.Server, error) {
	d, ok := dialects[f.Client]
	if !ok {
		return d, nil, fmt.Errorf("%s cannot be connected; clients are %s", f.Client, strings.Join(Clients(), ", "))
	}
	file, err := clientfile.Read(f.Path, f.Data, f.Client, f.Around)
	if err != nil {
		return d, nil, fmt.Errorf("%s: %w; repair it first", f.Path, err)
	}
	return d, file.Servers, nil
}

// has says whether the table has an entry of that name, though it be an empty one.
func (f File) has(table, name string) bool {
	v, err := values(f.Path, f.Data)
	return err == nil && members(gjson.Parse(members(v)[table]))[name] != ""
}

// verify reads the file as it would be. Whatever a stranger's file does to the
// editing, nothing is proposed that says more than it should.
func (f File) verify(after []byte, table []string, name string, good func([]clientfile.Server) bool) error {
	refuse := errors.New("the servers there are written in a way that is not understood well enough to change it; edit it by hand")
	old, err := values(f.Path, f.Data)
	if err != nil {
		return err
	}
	now, err := values(f.Path, after)
	if err != nil || !sameBut(old, now, append(slices.Clone(table), name)) {
		return fmt.Errorf("%s: %w", f.Path, refuse)
	}
	f.Data = after
	if _, servers, err := f.read(); err != nil || !good(servers) {
		return fmt.Errorf("%s: %w", f.Path, refuse)
	}
	return nil
}

// own says whether an entry may be changed to e: it starts a collet, or dials what
// only a person can know.
func own(s clientfile.Server, e Entry) bool {
	return s.IsCollet() || s.Command != "" && unescape(s.Command) == e.Command || s.URL != "" && e.URL != ""
}

// Same says whether a client's server is the collet of e: the same configuration,
// or the same URL.
func Same(s clientfile.Server, e Entry) bool {
	if e.URL != "" {
		return unescape(s.URL) == e.URL
	}
	if !s.IsCollet() && unescape(s.Command) != e.Command {
		return false
	}
	var args []string
	for _, a := range s.Args {
		args = append(args, unescape(a))
	}
	return configOf(args) == configOf(e.Args)
}

// configOf is the configuration that collet's arguments name.
func configOf(args []string) string {
	for i, a := range args {
		if file, ok := strings.CutPrefix(a, "--config="); ok {
			return filepath.Clean(file)
		}
		if a == "--config" && i+1 < len(args) {
			return filepath.Clean(args[i+1])
		}
	}
	return ""
}

// unescape is a value of mcp.toml without variables as it was in the client's file.
func unescape(value string) string { return strings.ReplaceAll(value, "$$", "$") }
