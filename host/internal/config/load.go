package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/collet-dev/collet/host/internal/name"
)

// loader collects what the files say.
type loader struct {
	cfg  *Config
	seen map[string]namesake // entries so far, faulty ones too, by name.Fold
}

// namesake is the entry that has a name, or one that people take for it.
type namesake struct {
	server string
	Place
}

func newLoader() *loader {
	return &loader{cfg: &Config{Host: defaultHost()}, seen: map[string]namesake{}}
}

// source reads one file's bytes.
func (l *loader) source(src Source) {
	file := src.File
	l.cfg.Files = append(l.cfg.Files, file)
	before := len(l.cfg.Problems)
	text, err := plainText(src)
	if err != nil {
		l.cfg.Problems = append(l.cfg.Problems, Problem{File: file, Message: err.Error()})
		return
	}
	root, stop, err := scan(text)
	if errors.Is(err, errTooDeep) {
		l.cfg.Problems = append(l.cfg.Problems, Problem{
			File: file, Line: stop.line, Column: stop.column, Message: err.Error() + "; the file is skipped",
		})
		return
	}
	values, syntax := decode(text)
	if syntax != nil {
		syntax.File = file
		l.cfg.Problems = append(l.cfg.Problems, *syntax)
		return
	}
	if src.Layer == Project {
		l.settle() // what the project says of exposure is about its own servers
	}
	l.document(&table{l: l, file: file, layer: src.Layer, values: values, node: root})
	slices.SortStableFunc(l.cfg.Problems[before:], func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// plainText is the source's text without a byte order mark. Its error names what
// else the bytes are.
func plainText(src Source) (string, error) {
	data := src.Data
	if src.Err != nil {
		return "", fmt.Errorf("cannot be read: %w; the file is skipped", src.Err)
	}
	if len(data) > MaxFile {
		return "", errTooLarge
	}
	utf16 := bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		len(data) > 1 && (data[0] == 0) != (data[1] == 0) // without a mark: one half of an ASCII character is zero
	if utf16 {
		return "", errors.New("is UTF-16 text; save it as UTF-8; the file is skipped")
	}
	return string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), nil
}

// decode is the TOML library's reading of text, or the syntax fault.
func decode(text string) (values map[string]any, syntax *Problem) {
	// The library answers some inputs it did not expect with a panic of its own.
	defer func() {
		if r := recover(); r != nil {
			values, syntax = nil, &Problem{Message: "is not TOML that can be read; the file is skipped"}
		}
	}()
	_, err := toml.Decode(text, &values)
	if err == nil {
		return values, nil
	}
	p := &Problem{Message: err.Error() + "; the file is skipped"}
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		// Its line and column disagree about faults at the end of a line; the
		// offset is right.
		before := text[:min(max(pe.Position.Start, 0), len(text))]
		p.Line = strings.Count(before, "\n") + 1
		p.Column = len(before) - strings.LastIndexByte(before, '\n')
		p.Message = hideValue(strings.TrimSuffix(pe.Message, ".")) + "; the file is skipped"
	}
	return nil, p
}

// hideValue leaves out what the library quotes between double quotes: the value
// it could not read, which may be a secret whose quotes were forgotten. A single
// character, as in "found 'x' instead", stays.
func hideValue(message string) string {
	first, last := strings.IndexByte(message, '"'), strings.LastIndexByte(message, '"')
	if last-first <= 2 {
		return message
	}
	return message[:first+1] + "..." + message[last:]
}

// document reads the top level of a file.
func (l *loader) document(top *table) {
	top.only("host", "servers", hooks)
	if t := top.table("host"); t != nil {
		l.host(t)
	}
	l.hooks(top)
	servers := top.table("servers")
	if servers == nil {
		return
	}
	for _, server := range order(servers.values, servers.node) {
		servers.server = server
		l.server(servers, server)
	}
}

// server reads one entry and keeps it if it has no fault.
func (l *loader) server(servers *table, server string) {
	faults := len(l.cfg.Problems)
	here := namesake{server, Place{servers.file, servers.node.key(server).at().line, servers.layer}}
	if err := name.CheckServer(server); err != nil {
		servers.fault(server, "%s", err)
	}
	other, taken := l.seen[name.Fold(server)]
	onTop := taken && other.server == server && other.Layer == User && here.Layer == Project
	if taken && !onTop {
		servers.fault(server, "%s", sameName(other, server))
	} else {
		l.seen[name.Fold(server)] = here
	}

	t := servers.table(server)
	if t != nil && here.Layer == Project && t.isOverride() {
		if len(l.cfg.Problems) == faults {
			l.override(t, server, onTop)
		}
		return
	}
	user := l.cfg.Server(server)
	if onTop {
		l.drop(server)
	}
	if t == nil {
		return
	}
	s := readServer(t)
	if len(l.cfg.Problems) > faults {
		return
	}
	s.Name, s.File, s.Line, s.Layer = server, here.File, here.Line, here.Layer
	s.at, s.values = t.node, t.values
	s.Dir = directory(t.file)
	if onTop && user != nil {
		s.consented(user)
	}
	l.cfg.Servers = append(l.cfg.Servers, s)
}

func sameName(other namesake, server string) string {
	if other.server == server {
		return fmt.Sprintf("is already defined at %s; remove one of them", other.Place)
	}
	return fmt.Sprintf("differs only in case or in - and _ from %q at %s; rename one of them", other.server, other.Place)
}

// directory is the absolute directory of a file.
func directory(file string) string {
	dir := filepath.Dir(file)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir // the working directory is gone; relative paths fail where they are used
}

func (l *loader) finish() *Config {
	l.settle()
	return l.cfg
}

// settle gives servers that do not say the exposure that [host] says so far.
func (l *loader) settle() {
	for _, s := range l.cfg.Servers {
		if s.Rules.Default == "" {
			s.Rules.Default = l.cfg.Host.Exposure
			s.inherited = l.cfg.Host.said["exposure"].Place
		}
	}
}

// listWords is `"a", "b" or "c"`.
func listWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	last := len(quoted) - 1
	if last <= 0 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
