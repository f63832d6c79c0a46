package clientfile

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// entry is one server as it is read: the file's members, what has been used of
// them, and the server so far.
type entry struct {
	object
	Server
	used    map[string]bool
	project string // directory that relative paths start from; "" when nothing says
	r       *reader
}

func (e *entry) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// take is the member under key, which then counts as used.
func (e *entry) take(key string) (gjson.Result, bool) {
	e.used[key] = true
	return e.members[key], e.has(key)
}

// finish notes what was not used.
func (e *entry) finish() {
	var left []string
	for _, k := range e.keys {
		if !e.used[k] && e.has(k) {
			left = append(left, quote(k))
		}
	}
	if len(left) > 0 {
		e.note("left out, for mcp.toml has no counterpart: %s", strings.Join(left, ", "))
	}
}

// process reads a server that is started.
func (e *entry) process(command, args, env string) {
	if v, ok := e.take(command); ok {
		e.Command = e.path(command, e.scalar(command, v), true)
	}
	if v, ok := e.take(args); ok {
		for i, arg := range e.list(args, v) {
			e.Args = append(e.Args, e.value(fmt.Sprintf("%s[%d]", args, i), arg, false))
		}
	}
	e.Env = e.pairs(env, true)
	e.workDir("cwd")
	if e.Command != "" && len(e.Args) == 0 && strings.Contains(e.Command, " ") && !strings.ContainsAny(e.Command, `/\`) {
		e.note("%s holds spaces; mcp.toml takes it for the name of one program, words after it belong into args", command)
	}
}

// workDir reads the directory a process starts in. Clients start the servers of a
// project in the project; mcp.toml would start them beside itself.
func (e *entry) workDir(key string) {
	if v, ok := e.take(key); ok {
		e.Cwd = e.path(key, e.scalar(key, v), false)
	}
	if e.Cwd == "" && e.Command != "" && e.project != "" {
		e.Cwd = escape(e.project)
	}
}

// remote reads a server that is dialed.
func (e *entry) remote(url, headers string) {
	if v, ok := e.take(url); ok {
		e.URL = e.value(url, e.scalar(url, v), false)
	}
	if headers != "" {
		e.Headers = append(e.Headers, e.pairs(headers, true)...)
	}
}

// isRemote decides between the two ways to reach a server, as most clients do:
// by the type, else by what is there, the command first.
func (e *entry) isRemote(urlKeys ...string) (url string, remote bool) {
	for _, k := range urlKeys {
		if v := e.members[k]; v.Type == gjson.String && v.Str != "" {
			url, remote = k, true
			break
		}
	}
	kind := ""
	for _, k := range []string{"type", "transport", "transportType"} { // three spellings of one thing
		if v := e.members[k]; v.Type == gjson.String {
			e.used[k] = true
			kind = v.Str
		}
	}
	command := e.has("command") && e.members["command"].String() != ""
	return url, remote && (!command || kind != "" && kind != "stdio" && kind != "local")
}

// pairs reads an object of strings.
func (e *entry) pairs(key string, secret bool) (pairs []Pair) {
	v, ok := e.take(key)
	if !ok {
		return nil
	}
	o, ok := asObject(v)
	if !ok {
		e.note("%s is not an object of strings; it is left out", key)
		return nil
	}
	for _, name := range o.keys {
		where := key + "." + name
		if !o.has(name) {
			// VS Code takes the variable away then, which mcp.toml cannot say.
			e.note("%s is null; it is left out", quote(where))
			continue
		}
		if v := o.members[name]; v.IsObject() || v.IsArray() {
			e.note("%s is no string; it is left out", quote(where))
			continue
		}
		name = strings.ToValidUTF8(name, "\uFFFD")
		pairs = append(pairs, Pair{name, e.value(where, e.scalar(where, o.members[name]), secret)})
	}
	return pairs
}

// list reads an array of strings.
func (e *entry) list(key string, v gjson.Result) (items []string) {
	if !v.IsArray() {
		e.note("%s is not an array; it is left out", key)
		return nil
	}
	for i, item := range v.Array() {
		items = append(items, e.scalar(fmt.Sprintf("%s[%d]", key, i), item))
	}
	return items
}

// names reads an array of plain words, such as tools' names.
func (e *entry) names(key string) []string {
	v, ok := e.take(key)
	if !ok {
		return nil
	}
	names := e.list(key, v)
	if names == nil {
		names = []string{}
	}
	return names
}

// scalar is a string, or the text of what should have been one.
func (e *entry) scalar(where string, v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return strings.ToValidUTF8(v.String(), "\uFFFD")
	case v.Type == gjson.Number, v.Type == gjson.True, v.Type == gjson.False:
		e.note("%s is no string; it is written as one", quote(where))
		return v.Raw
	}
	e.note("%s is no string; it is written as an empty one", quote(where))
	return ""
}

// plain is a text in which nothing is expanded.
func (e *entry) plain(key string) string {
	v, ok := e.take(key)
	if !ok {
		return ""
	}
	return e.scalar(key, v)
}

// flag is a boolean, or unsaid.
func (e *entry) flag(key string, unsaid bool) bool {
	v, ok := e.take(key)
	switch {
	case !ok:
	case v.Type == gjson.True, v.Type == gjson.False:
		return v.Bool()
	default:
		e.note("%s is neither true nor false; it is left out", key)
	}
	return unsaid
}

// Limits of mcp.toml (docs/configuration.md).
const (
	minTimeout      = time.Second
	maxTimeout      = 600 * time.Second
	maxStartTimeout = time.Hour
)

// duration is a number of units as a duration that mcp.toml takes.
func (e *entry) duration(key string, unit, most time.Duration) time.Duration {
	v, ok := e.take(key)
	if !ok {
		return 0
	}
	return e.within(key, v, unit, most)
}

func (e *entry) within(where string, v gjson.Result, unit, most time.Duration) time.Duration {
	n := v.Num
	if v.Type != gjson.Number || n <= 0 || math.IsNaN(n) {
		e.note("%s is no number above 0; it is left out", where)
		return 0
	}
	d := most
	if n < float64(most)/float64(unit) {
		d = time.Duration(n * float64(unit)).Round(time.Millisecond)
	} else if n > float64(most)/float64(unit) {
		e.note("%s is longer than mcp.toml allows; it becomes %s", where, most)
	}
	if d < minTimeout {
		d = minTimeout
		e.note("%s is shorter than mcp.toml allows; it becomes %s", where, d)
	}
	return d
}

// path is a value that names a file: one that is relative starts from the
// project, as it did in the client, and not from the directory of mcp.toml.
// A command without a slash is looked up and no path.
func (e *entry) path(where, text string, command bool) string {
	out := e.value(where, text, false)
	if out == "" || command && !strings.ContainsAny(out, `/\`) || strings.HasPrefix(out, "$") && !strings.HasPrefix(out, "$$") ||
		out == "~" || strings.HasPrefix(out, "~/") || filepath.IsAbs(out) {
		return out
	}
	if e.project == "" {
		e.note("%s is a relative path; from now on it starts at the directory of mcp.toml", where)
		return out
	}
	return filepath.Join(escape(e.project), out)
}
