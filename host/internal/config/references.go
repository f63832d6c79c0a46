package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Reference is one value of an entry that takes something from outside the file.
type Reference struct {
	Key  string // dotted, from the top: "servers.github.config.token"
	Line int    // in the entry's file
	// Secret: the field is one that holds credentials, if any does: args, env, url,
	// headers or config.
	Secret    bool
	Variables []Variable // in the order they are named, once each
	Command   bool       // the value is a shell command, whose variables the shell expands
}

// Variable is one variable that a value names.
type Variable struct {
	Name  string
	State VariableState
}

// VariableState says what a variable contributes to a value.
type VariableState string

// The states.
const (
	VariableSet     VariableState = "set"     // if only to nothing
	VariableDefault VariableState = "default" // unset; the default counts
	VariableMissing VariableState = "missing" // unset, and there is no default
)

// References lists the values of the entry that name variables or are commands,
// in the order of the keys of docs/configuration.md. It runs nothing and holds no
// value. A text that cannot be expanded is left to Resolve to tell.
func (s *Server) References(r Resolver) []Reference {
	var found []Reference
	for v := range s.texts {
		ref := Reference{Secret: v.secret}
		text := v.text
		if script, ok := strings.CutPrefix(text, "!"); ok && v.command {
			if ref.Command = !strings.HasPrefix(script, "!"); !ref.Command {
				text = script[1:]
			}
		}
		if !ref.Command {
			ref.Variables = named(text, r)
		}
		if ref.Command || ref.Variables != nil {
			ref.Key, ref.Line = s.locate(v.at)
			found = append(found, ref)
		}
	}
	return found
}

// named are the variables that text names where they count: in a default that is
// not used they do not.
func named(text string, r Resolver) []Variable {
	var found []Variable
	e := &expander{home: r.Home}
	e.lookup = func(name string) (string, bool) {
		value, ok := r.lookup(name)
		state := VariableSet
		if !ok {
			state = VariableDefault // unless e knows of none; see below
		}
		if !slices.ContainsFunc(found, func(v Variable) bool { return v.Name == name }) {
			found = append(found, Variable{name, state})
		}
		return value, ok
	}
	if _, err := e.expand(text); err != nil {
		return nil
	}
	for i := range found {
		if slices.Contains(e.unset, found[i].Name) {
			found[i].State = VariableMissing
		}
	}
	return found
}

// value is one text of an entry.
type value struct {
	at      field
	text    string
	secret  bool
	command bool // it may be a command
}

// texts goes through the texts of the entry that are expanded when it starts.
func (s *Server) texts(yield func(value) bool) {
	all := []value{{at: field{"plugin"}, text: s.Plugin}, {at: field{"command"}, text: s.Command}}
	if !isPath(s.Plugin) {
		all = all[1:]
	}
	for i, arg := range s.Args {
		all = append(all, value{at: field{"args", i}, text: arg, secret: true})
	}
	all = append(all, value{at: field{"cwd"}, text: s.Cwd})
	all = appendMap(all, "env", s.Env)
	all = append(all, value{at: field{"url"}, text: s.URL, secret: true})
	all = appendMap(all, "headers", s.Headers)
	all = append(all, value{at: field{"ca_file"}, text: s.CAFile})
	for _, v := range appendJSON(nil, field{"oauth"}, gjson.ParseBytes(s.OAuth)) {
		if v.at[len(v.at)-1] != tokenCommand {
			all = append(all, v)
		}
	}
	all = appendJSON(all, field{"config"}, gjson.ParseBytes(s.Config))
	for _, v := range all {
		if v.text != "" && !yield(v) {
			return
		}
	}
}

func appendMap(all []value, key string, m map[string]string) []value {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, value{at: field{key, k}, text: m[k], secret: true, command: true})
	}
	return all
}

func appendJSON(all []value, at field, v gjson.Result) []value {
	switch {
	case v.IsObject(), v.IsArray():
		i := 0
		v.ForEach(func(key, item gjson.Result) bool {
			var step any = i
			if v.IsObject() {
				step = key.String()
			}
			all = appendJSON(all, append(slices.Clip(at), step), item)
			i++
			return true
		})
	case v.Type == gjson.String:
		all = append(all, value{at: at, text: v.String(), secret: true, command: true})
	}
	return all
}
