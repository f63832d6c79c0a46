// Package configedit adds servers of other clients to an mcp.toml: it gives them
// valid names, finds those that are there already, writes them as TOML behind
// what the file holds, and replaces the file at once.
//
// It never changes or drops a byte that was there, never replaces a server, and
// writes nothing that package config would not read back without a fault.
package configedit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// Action is what becomes of a server.
type Action string

// The actions.
const (
	Added    Action = "added"    // it will be in the file
	Present  Action = "present"  // an equal one is there
	Conflict Action = "conflict" // another one has its name
	Invalid  Action = "invalid"  // no entry of mcp.toml can say it
)

// Outcome is what becomes of one server.
type Outcome struct {
	Server clientfile.Server
	From   *clientfile.File
	// Name is its name in mcp.toml: of the new entry, of the equal one, or of the
	// one in its way.
	Name   string
	Action Action
	Reason string // of Conflict and Invalid
}

// Plan is an addition to one file, not made yet.
type Plan struct {
	// File is the mcp.toml, as given.
	File string
	// Text is what comes behind the bytes that are there; empty when nothing is added.
	Text     []byte
	Outcomes []Outcome // in the order of the servers

	before []byte
}

// New plans to add the servers of sources to an mcp.toml that holds before (nil
// when there is no file yet), each named with prefix in front. The error is a file
// that cannot be added to.
func New(file string, before []byte, sources []*clientfile.File, prefix string) (*Plan, error) {
	p := &Plan{File: file, before: before}
	known, err := readKnown(file, before)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	newline := "\n"
	if bytes.Contains(before, []byte("\r\n")) {
		newline = "\r\n"
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		text.WriteString(newline)
	}
	empty := text.Len()
	for _, from := range sources {
		for _, s := range from.Servers {
			o := known.place(file, s, from, prefix)
			if o.Action == Added {
				if len(before) > 0 || text.Len() > empty {
					text.WriteString(newline)
				}
				text.WriteString(strings.ReplaceAll(render(o.Name, s, from, known.exposure), "\n", newline))
			}
			p.Outcomes = append(p.Outcomes, o)
		}
	}
	if text.Len() > empty {
		p.Text = text.Bytes()
	}
	return p, p.check()
}

// known is what an mcp.toml holds, and what is being added to it.
type known struct {
	exposure exposure.Exposure         // the default that the file has
	names    []string                  // of all entries, faulty ones too
	servers  map[string]*config.Server // the usable ones by name
	fresh    map[string]*clientfile.File
}

func readKnown(file string, before []byte) (*known, error) {
	raw, err := config.JSON(before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nothing can be added to it before that is repaired", file, err)
	}
	c := config.Parse(file, before)
	k := &known{
		exposure: c.Host.Exposure,
		servers:  map[string]*config.Server{},
		fresh:    map[string]*clientfile.File{},
	}
	gjson.GetBytes(raw, "servers").ForEach(func(key, _ gjson.Result) bool {
		k.names = append(k.names, key.String())
		return true
	})
	for _, s := range c.Servers {
		k.servers[s.Name] = s
	}
	return k, nil
}

// place decides what becomes of a server, and counts it among the known ones when
// it is added.
func (k *known) place(file string, s clientfile.Server, from *clientfile.File, prefix string) Outcome {
	o := Outcome{Server: s, From: from, Name: valid(prefix+s.Name, ""), Action: Invalid}
	entry, err := parsed(file, o.Name, s, from, k.exposure)
	if err != nil {
		o.Reason = err.Error()
		return o
	}
	// An equal one may be there under any of the names that an earlier run could
	// have given it.
	candidates := candidates(prefix+s.Name, from)
	for _, c := range candidates {
		if have := k.servers[k.taken(c)]; have != nil && len(differences(have, entry)) == 0 {
			o.Name, o.Action = have.Name, Present
			return o
		}
	}
	for _, c := range candidates {
		other := k.taken(c)
		if other == "" {
			o.Name, o.Action = c, Added
			entry.Name = c
			k.names = append(k.names, c)
			k.servers[c], k.fresh[c] = entry, from
			return o
		}
		if k.fresh[other] == nil {
			o.Name, o.Action = other, Conflict
			o.Reason = "is in the file with a fault"
			if have := k.servers[other]; have != nil {
				o.Reason = "is in the file with another " + strings.Join(differences(have, entry), ", ")
			}
			return o
		}
	}
	o.Action, o.Reason = Conflict, "and every name made from it belongs to another server"
	return o
}

// taken is the known name that keeps another from being used, or "".
func (k *known) taken(server string) string {
	for _, n := range k.names {
		if name.SameServer(n, server) {
			return n
		}
	}
	return ""
}

// parsed is a server as config reads it back. The error is what config finds wrong
// with it.
func parsed(file, as string, s clientfile.Server, from *clientfile.File, unsaid exposure.Exposure) (*config.Server, error) {
	c := config.Parse(file, []byte(render(as, s, from, unsaid)))
	if len(c.Problems) == 0 && len(c.Servers) == 1 {
		return c.Servers[0], nil
	}
	var reasons []string
	for _, p := range c.Problems {
		reasons = append(reasons, strings.TrimPrefix(p.Key, "servers."+as+".")+" "+p.Message)
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

// differences are the keys in which two entries reach different servers. What a
// person tunes afterwards (exposure, timeouts, enabled) makes no other server.
func differences(a, b *config.Server) (keys []string) {
	add := func(key string, differ bool) {
		if differ {
			keys = append(keys, key)
		}
	}
	add("plugin", a.Plugin != b.Plugin)
	add("command", a.Command != b.Command)
	add("args", !slices.Equal(a.Args, b.Args))
	add("cwd", a.Cwd != b.Cwd)
	add("env", !maps.Equal(a.Env, b.Env))
	add("url", a.URL != b.URL)
	add("headers", !maps.Equal(a.Headers, b.Headers))
	return keys
}

// check reads the file as it would be: every server that is added has to be
// usable, those that were there still have to be, and nothing may get a fault.
func (p *Plan) check() error {
	if len(p.Text) == 0 {
		return nil
	}
	old := config.Parse(p.File, p.before)
	c := config.Parse(p.File, slices.Concat(p.before, p.Text))
	refuse := func(why string) error {
		return fmt.Errorf("nothing can be added behind what %s holds, for %s; write its servers as [servers.NAME] tables", p.File, why)
	}
	if len(c.Problems) > len(old.Problems) {
		return refuse("then it " + c.Problems[len(c.Problems)-1].Message)
	}
	for _, s := range old.Servers {
		if c.Server(s.Name) == nil {
			return refuse(s.Name + " would be lost")
		}
	}
	for _, o := range p.Outcomes {
		if o.Action == Added && c.Server(o.Name) == nil {
			return refuse(o.Name + " would not be read back")
		}
	}
	return nil
}
