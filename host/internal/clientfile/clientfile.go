// Package clientfile reads the configuration files of other MCP clients (Claude
// Desktop, Claude Code, VS Code, Cursor, Windsurf, Codex, Gemini CLI, opencode,
// Zed) and says what they hold in the words of mcp.toml: each server with its
// values in mcp.toml's own syntax, and a note for everything that was changed or
// has no counterpart.
//
// It never writes, runs, expands or looks up anything: variables stay variables,
// secrets stay where they were written, and no note quotes a value.
package clientfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/config"
)

// MaxFile is the largest file that is read, in bytes. Claude Code keeps its
// servers in one file with the history of every project, which grows to tens of
// MiB; the bound keeps a wrong path from filling memory.
const MaxFile = 128 << 20

// Surroundings are what the meaning of a file depends on.
type Surroundings struct {
	Home    string // the home directory; "" when it is not known
	WorkDir string // absolute; which project of Claude Code's own file counts
}

// File is what one file holds.
type File struct {
	Path    string // absolute
	Client  Client
	Project string   // directory of the project whose file it is; "" for a user's own
	Servers []Server // in file order
	Notes   []string // about the file as a whole
}

// Server is one server of another client. Values are text of mcp.toml: variables
// as ${NAME}, a dollar sign that is none as $$. Exactly one of Command and URL is
// set.
type Server struct {
	Name    string // as in the file; any text
	Enabled bool

	Command string
	Args    []string
	Cwd     string
	Env     []Pair // in file order
	URL     string
	Headers []Pair // in file order

	Description           string
	Timeout, StartTimeout time.Duration // 0 when not said

	// Only are the tools that exist for anybody, nil for all; Hidden are taken away.
	Only, Hidden []string

	Notes []string // what was changed or left out, for a person
}

// IsCollet says whether the server is a collet that the client starts.
func (s *Server) IsCollet() bool {
	base := strings.ToLower(s.Command[strings.LastIndexAny(s.Command, `/\`)+1:])
	return strings.TrimSuffix(base, ".exe") == "collet" && slices.Contains(s.Args, "serve")
}

// Pair is a name with its value.
type Pair struct{ Key, Value string }

// Read reads the bytes of a file. client is a client's name, or "" to tell it from
// the file. The error is a file that cannot be understood as a whole; a server
// that cannot is a note.
func Read(path string, data []byte, client string, around Surroundings) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	root, err := parse(abs, data)
	if err != nil {
		return nil, err
	}
	c, ok := Client{}, false
	if client == "" {
		if c, ok = recognise(abs, root); !ok {
			return nil, fmt.Errorf("holds no servers of a client that is known; known are %s", strings.Join(Names(), ", "))
		}
	} else if c, ok = Named(client); !ok {
		return nil, fmt.Errorf("no client is called %q; known are %s", client, strings.Join(Names(), ", "))
	}
	r := &reader{
		File:   &File{Path: abs, Client: c, Project: projectOf(abs, around.Home)},
		around: around,
		syntax: c.syntax,
	}
	c.read(r, root)
	return r.File, nil
}

// JSON is what a file says as plain JSON. Comments and commas after the last
// element are accepted everywhere, for half of the clients allow them and none
// gives them another meaning; a file that is called .toml is TOML.
func JSON(path string, data []byte) (json.RawMessage, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("is larger than %d MiB", MaxFile>>20)
	}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return config.JSON(data)
	}
	return strictJSON(data)
}

// parse is a file as an object.
func parse(path string, data []byte) (object, error) {
	raw, err := JSON(path, data)
	if err != nil {
		return object{}, err
	}
	root, ok := asObject(gjson.ParseBytes(raw))
	if !ok {
		return object{}, errors.New("is not an object")
	}
	return root, nil
}

// projectOf is the directory of the project that path is a file of, by the places
// that clients look in; "" when it is a user's own file or nothing says.
func projectOf(path, home string) string {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	project := ""
	switch {
	case base == ".mcp.json":
		project = dir
	case slices.Contains([]string{".vscode", ".cursor", ".gemini", ".codex", ".zed", ".opencode"}, filepath.Base(dir)):
		project = parent
	case (base == "opencode.json" || base == "opencode.jsonc") && filepath.Base(dir) != "opencode":
		project = dir
	}
	if project == home {
		return "" // ~/.cursor, ~/.gemini and ~/.codex are the user's own
	}
	return project
}

// reader reads one file.
type reader struct {
	*File
	around Surroundings
	syntax syntax
	inputs map[string]input // VS Code's questions by id
}

func (r *reader) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// servers reads every member of a table of servers. read fills in what is special
// to the client; what it leaves unread becomes a note.
func (r *reader) servers(key string, table gjson.Result, project string, read func(*entry)) {
	all, ok := asObject(table)
	if !ok {
		r.note("%s is not an object of servers; it is left out", key)
		return
	}
	for _, name := range all.keys {
		members, ok := asObject(all.members[name])
		if !ok {
			r.note("server %s is not an object; it is left out", quote(name))
			continue
		}
		e := &entry{
			object: members, used: map[string]bool{}, project: project,
			r: r, Server: Server{Name: strings.ToValidUTF8(name, "\uFFFD"), Enabled: true},
		}
		read(e)
		e.finish()
		if e.Command == "" && e.URL == "" {
			r.note("server %s says neither a command nor a url; it is left out", quote(name))
			continue
		}
		r.Servers = append(r.Servers, e.Server)
	}
}

// quote shows a name of the file in a note: escaped, and not longer than a line
// can bear.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return fmt.Sprintf("%q", s)
}
