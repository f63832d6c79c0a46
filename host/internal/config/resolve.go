package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Resolver is what values may refer to.
type Resolver struct {
	// Lookup is a variable of the host's environment, as os.LookupEnv. Without it none
	// is set.
	Lookup func(name string) (value string, ok bool)
	// Home is what ~ stands for; "" when it is not known.
	Home string
	// Command runs a script with a shell in dir and returns its standard output.
	// It bounds the time. Its error must not hold what the script printed.
	// Without it a value that is a command is an error.
	Command func(ctx context.Context, script, dir string) (string, error)
	// Keyring returns a secret that the system's keyring holds. It bounds the time.
	// Without it a value that names one is an error.
	Keyring func(ctx context.Context, service, account string) (string, error)
}

func (r Resolver) lookup(name string) (string, bool) {
	if r.Lookup == nil {
		return "", false
	}
	return r.Lookup(name)
}

// Resolved is a server's entry with its values expanded and its paths absolute.
type Resolved struct {
	Plugin  string // a name, or an absolute path
	Command string // looked up on PATH when it holds no slash, else absolute
	Args    []string
	Cwd     string // absolute; the file's directory when not said
	Env     map[string]string
	URL     string
	Headers map[string]string
	CAFile  string // absolute, or ""
	OAuth   json.RawMessage
	Config  json.RawMessage
	// Fetched is what commands printed and what files and the keyring held: secrets,
	// all of them.
	Fetched []Fetched
}

// Fetched is a secret that a value takes from elsewhere than the environment.
type Fetched struct{ Key, Value string } // Key is dotted, from the entry: "env.TOKEN"

// Resolve expands command, args, cwd, env, url, headers, the strings of oauth and
// config, ca_file and a plugin's path (see expander for the rules), and runs the values
// of env, headers, oauth and config that begin with "!" as shell commands: the rest of
// the value goes to the shell as written, the line ends after its output are
// dropped, and "!!" stands for a plain "!". Keys are never expanded, nor is what
// a variable or a command gave. Commands run only when everything else resolved.
//
// The error names the server, the field and its place and, for a variable that is
// not set, the variable; it never holds a value.
func (s *Server) Resolve(ctx context.Context, r Resolver) (*Resolved, error) {
	// The first pass finds unset variables before any command asks a person for
	// a password in vain.
	dry := &resolution{server: s, ctx: ctx, r: r, dry: true}
	out := dry.all()
	if err := dry.err(); err != nil {
		return nil, err
	}
	if !dry.commands {
		return out, nil
	}
	run := &resolution{server: s, ctx: ctx, r: r}
	out = run.all()
	if err := run.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// resolution is one pass over an entry's values.
type resolution struct {
	server   *Server
	ctx      context.Context
	r        Resolver
	dry      bool // commands are counted, not run
	commands bool

	fetched []Fetched
	unset   []string // "NAME is not set (file:line, path)"
	fault   error    // the first other fault
}

func (x *resolution) all() *Resolved {
	s := x.server
	out := &Resolved{
		Plugin:  s.Plugin,
		Command: x.plain(field{"command"}, s.Command),
		Cwd:     x.path(field{"cwd"}, s.Cwd),
		Env:     x.strMap("env", s.Env),
		URL:     x.text(field{"url"}, s.URL, true),
		Headers: x.strMap("headers", s.Headers),
		CAFile:  x.path(field{"ca_file"}, s.CAFile),
		OAuth:   x.strings("oauth", s.OAuth),
		Config:  x.strings("config", s.Config),
	}
	for i, arg := range s.Args {
		out.Args = append(out.Args, x.plain(field{"args", i}, arg))
	}
	if isPath(out.Command) {
		out.Command = absolute(s.Dir, out.Command)
	}
	if isPath(s.Plugin) {
		out.Plugin = x.path(field{"plugin"}, s.Plugin)
	}
	if out.Cwd == "" {
		out.Cwd = s.Dir
	}
	out.Fetched = x.fetched
	x.check(out)
	return out
}

// check refuses what only shows once values are expanded. A value still unset
// is not looked at.
func (x *resolution) check(out *Resolved) {
	if x.fault != nil || len(x.unset) > 0 {
		return
	}
	s := x.server
	switch {
	case s.Command != "" && out.Command == "":
		x.fail(field{"command"}, errors.New("is empty once its variables are expanded"))
	case s.URL != "" && !isHTTP(out.URL):
		x.fail(field{"url"}, errors.New("must, once its variables are expanded, begin with http:// or https:// and name a host"))
	}
	for i, arg := range out.Args {
		x.noBytes(field{"args", i}, arg, "\x00")
	}
	x.noBytes(field{"command"}, out.Command, "\x00")
	x.noBytes(field{"cwd"}, out.Cwd, "\x00")
	for _, k := range slices.Sorted(maps.Keys(out.Env)) {
		x.noBytes(field{"env", k}, out.Env[k], "\x00")
	}
	for _, k := range slices.Sorted(maps.Keys(out.Headers)) {
		x.noBytes(field{"headers", k}, out.Headers[k], "\x00\r\n")
	}
}

func (x *resolution) noBytes(f field, value, bytes string) {
	if strings.ContainsAny(value, bytes) {
		x.fail(f, errors.New("holds a zero byte or a line end, which cannot be passed on"))
	}
}

// field is the way to a value within an entry: keys and array indexes.
type field []any

// place is where a field is: its line, and its dotted path from the top.
func (x *resolution) place(f field) string {
	path, line := x.server.locate(f)
	return fmt.Sprintf("%s:%d, %s", x.server.File, line, path)
}

// locate is a field's dotted path from the top, and its line.
func (s *Server) locate(f field) (path string, line int) {
	path, at, line := joinKey(cmp.Or(s.parent, "servers"), s.Name), s.at, s.Line
	for _, step := range f {
		switch step := step.(type) {
		case string:
			path, at = joinKey(path, step), at.key(step)
		case int:
			path, at = fmt.Sprintf("%s[%d]", path, step), at.elem(step)
		}
		if at != nil {
			line = at.pos.line
		}
	}
	return path, line
}

func (x *resolution) fail(f field, err error) {
	if x.fault == nil {
		x.fault = fmt.Errorf("%s: %s: %w", x.server.Name, x.place(f), err)
	}
}

// err is the pass's result: the first fault, or all unset variables at once.
func (x *resolution) err() error {
	switch {
	case x.fault != nil:
		return x.fault
	case len(x.unset) == 1:
		return fmt.Errorf("%s: %s; set it or set enabled = false", x.server.Name, x.unset[0])
	case len(x.unset) > 1:
		return fmt.Errorf("%s: %s; set them or set enabled = false", x.server.Name, strings.Join(x.unset, ", "))
	}
	return nil
}

// plain expands a value in which "!" means nothing, and which is no place for secrets.
func (x *resolution) plain(f field, text string) string { return x.text(f, text, false) }

// text expands a value in which "!" means nothing.
func (x *resolution) text(f field, text string, secrets bool) string {
	e := &expander{lookup: x.r.lookup, home: x.r.Home, fetch: func(kind, where string) (string, error) {
		if !secrets {
			return "", errors.New("is no place for a secret, which others could see there; put it into env, headers, oauth or config")
		}
		return x.elsewhere(f, kind, where)
	}}
	out, err := e.expand(text)
	if err != nil {
		x.fail(f, err)
		return ""
	}
	for _, name := range e.unset {
		x.unset = append(x.unset, fmt.Sprintf("%s is not set (%s)", name, x.place(f)))
	}
	return out
}

// secret expands a value that may be a command.
func (x *resolution) secret(f field, text string) string {
	script, ok := strings.CutPrefix(text, "!")
	if !ok {
		return x.text(f, text, true)
	}
	if strings.HasPrefix(script, "!") {
		return "!" + x.text(f, script[1:], true)
	}
	x.commands = true
	if x.r.Command == nil {
		x.fail(f, errors.New("is a command, and commands cannot be run here"))
	}
	if x.dry || x.fault != nil {
		return ""
	}
	out, err := x.r.Command(x.ctx, script, x.server.Dir)
	if err != nil {
		x.fail(f, fmt.Errorf("its command failed: %w", err))
		return ""
	}
	out = strings.TrimRight(out, "\r\n")
	x.fetch(f, out)
	return out
}

// elsewhere is a secret that a file or the keyring holds. The keyring may ask a person,
// as a command may: it comes when everything else resolved.
func (x *resolution) elsewhere(f field, kind, where string) (value string, err error) {
	if kind == "file" {
		value, err = readSecret(x.server.Dir, x.r.Home, where)
	} else {
		service, account, ok := cutLast(where, "/")
		switch x.commands = true; {
		case !ok || service == "" || account == "":
			return "", errors.New("names no entry of the keyring: write ${keyring:SERVICE/ACCOUNT}")
		case x.r.Keyring == nil:
			return "", errors.New("names an entry of the keyring, and there is none here")
		case x.dry || x.fault != nil:
			return "", nil
		}
		if value, err = x.r.Keyring(x.ctx, service, account); err != nil {
			return "", fmt.Errorf("its entry %s of the keyring cannot be had: %w", quote(where), err)
		}
	}
	if err == nil {
		x.fetch(f, value)
	}
	return value, err
}

// fetch takes note of a secret.
func (x *resolution) fetch(f field, value string) {
	path, _ := x.server.locate(f)
	x.fetched = append(x.fetched, Fetched{strings.TrimPrefix(path, joinKey("servers", x.server.Name)+"."), value})
}

func (x *resolution) path(f field, text string) string {
	if out := x.plain(f, text); out != "" {
		return absolute(x.server.Dir, out)
	}
	return ""
}

func (x *resolution) strMap(key string, m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = x.secret(field{key, k}, m[k])
	}
	return out
}

// strings expands the strings of a JSON object and leaves every other byte as it is.
func (x *resolution) strings(key string, object json.RawMessage) json.RawMessage {
	if object == nil {
		return nil
	}
	var b bytes.Buffer
	x.json(&b, field{key}, gjson.ParseBytes(object))
	return b.Bytes()
}

func (x *resolution) json(b *bytes.Buffer, f field, v gjson.Result) {
	switch {
	case v.IsObject():
		x.members(b, f, v, '{', '}')
	case v.IsArray():
		x.members(b, f, v, '[', ']')
	case v.Type == gjson.String && f[0] == "oauth" && f[len(f)-1] == tokenCommand:
		b.WriteString(v.Raw) // as written, and when it is wanted
	case v.Type == gjson.String:
		b.Write(jsonString(x.secret(f, v.String())))
	default:
		b.WriteString(v.Raw)
	}
}

func (x *resolution) members(b *bytes.Buffer, f field, v gjson.Result, open, end byte) {
	b.WriteByte(open)
	i := 0
	v.ForEach(func(key, item gjson.Result) bool {
		if i > 0 {
			b.WriteByte(',')
		}
		var step any = i
		if open == '{' {
			step = key.String()
			b.WriteString(key.Raw + ":")
		}
		x.json(b, append(slices.Clip(f), step), item)
		i++
		return true
	})
	b.WriteByte(end)
}

// ResolvePluginDirs returns the absolute directories of plugin_dirs, expanded
// like a server's cwd. One that cannot be expanded is left out and a Problem.
func (h Host) ResolvePluginDirs(r Resolver) (dirs []string, problems []Problem) {
	for i, text := range h.PluginDirs {
		e := &expander{lookup: r.lookup, home: r.Home}
		dir, err := e.expand(text)
		switch {
		case err == nil && len(e.unset) > 0:
			err = fmt.Errorf("%s is not set; set it or remove the entry", e.unset[0])
		case err == nil && dir == "":
			err = errors.New("is empty; give it a value or remove it")
		}
		if err != nil {
			at := h.said["plugin_dirs"].at.elem(i).at()
			problems = append(problems, Problem{
				File: h.said["plugin_dirs"].File, Line: at.line, Column: at.column,
				Key: fmt.Sprintf("host.plugin_dirs[%d]", i), Message: err.Error(),
			})
			continue
		}
		dirs = append(dirs, absolute(directory(h.said["plugin_dirs"].File), dir))
	}
	return dirs, problems
}

// isPath reports whether a command or plugin is a path and not a name to look up.
func isPath(s string) bool { return strings.Contains(filepath.ToSlash(s), "/") }

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isHTTP reports whether s is an absolute http or https URL with a host.
func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
