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
	seen map[string]place // entries so far, faulty ones too, by twinKey
}

// place is where a server's entry stands.
type place struct {
	server, file string
	line         int
}

func newLoader() *loader {
	return &loader{cfg: &Config{Host: defaultHost()}, seen: map[string]place{}}
}

// file reads one file's bytes.
func (l *loader) file(file string, data []byte) {
	l.cfg.Files = append(l.cfg.Files, file)
	before := len(l.cfg.Problems)
	text, err := plainText(data)
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
	l.document(&table{l: l, file: file, values: values, node: root})
	slices.SortStableFunc(l.cfg.Problems[before:], func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// plainText is data without a byte order mark. Its error names what else the
// bytes are.
func plainText(data []byte) (string, error) {
	if len(data) > maxFile {
		return "", errors.New("is larger than 1 MiB, too large for an mcp.toml; the file is skipped")
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
	top.only("host", "servers")
	if t := top.table("host"); t != nil {
		l.host(t)
	}
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
	line := servers.node.key(server).at().line
	if err := name.CheckServer(server); err != nil {
		servers.fault(server, "%s", err)
	}
	if other, ok := l.seen[twinKey(server)]; ok {
		servers.fault(server, "%s", sameName(other, server))
	} else {
		l.seen[twinKey(server)] = place{server, servers.file, line}
	}

	t := servers.table(server)
	if t == nil {
		return
	}
	s := readServer(t)
	if len(l.cfg.Problems) > faults {
		return
	}
	s.Name, s.File, s.Line, s.at = server, t.file, line, t.node
	s.Dir = directory(t.file)
	l.cfg.Servers = append(l.cfg.Servers, s)
}

// twinKey is equal for two names exactly when name.SameServer says so; a look-up
// in place of comparing every pair.
func twinKey(server string) string {
	return strings.ReplaceAll(strings.ToLower(server), "-", "_")
}

func sameName(other place, server string) string {
	if other.server == server {
		return fmt.Sprintf("is already defined at %s:%d; remove one of them", other.file, other.line)
	}
	return fmt.Sprintf("differs only in case or in - and _ from %q at %s:%d; rename one of them", other.server, other.file, other.line)
}

// directory is the absolute directory of a file.
func directory(file string) string {
	dir := filepath.Dir(file)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir // the working directory is gone; relative paths fail where they are used
}

// finish gives servers that do not say the host's default exposure.
func (l *loader) finish() *Config {
	for _, s := range l.cfg.Servers {
		if s.Rules.Default == "" {
			s.Rules.Default = l.cfg.Host.Exposure
		}
	}
	return l.cfg
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
