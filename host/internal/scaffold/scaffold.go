// Package scaffold writes the project of a new plugin: a program that builds, tests
// and certifies as it is, and what publishes it. The files are templates in this
// binary. It runs nothing and fetches nothing.
package scaffold

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Kind is what the plugin begins as.
type Kind string

const (
	Tools   Kind = "tools"   // an adapter with tools of its own
	URL     Kind = "url"     // an adapter for an MCP server over HTTP
	Command Kind = "command" // an adapter for an MCP server that is a program
	Hook    Kind = "hook"    // a hook: no tools, it is asked about calls
)

// Plan says what is to be written.
type Plan struct {
	Name string // of the plugin, without collet-plugin-
	Kind Kind
	URL  string // of Kind URL: the server's endpoint
	// Command is, of Kind Command, the server's program and its arguments.
	Command []string
	// SDK is the directory of a checkout of the SDK that go.mod is to replace the
	// released one with; "" is none.
	SDK string
}

// maxName is what a plugin may be called: the server that it is tried as has its
// name, and no server's is longer.
const maxName = 32

// validName is the name that adapters may give themselves; verify holds them to it.
var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`) })

// Project is the name of the plugin's file, its repository and its directory.
func (p *Plan) Project() string { return "collet-plugin-" + p.Name }

// Check says what is wrong with a plan, for a person.
func (p *Plan) Check() error {
	switch short, long := strings.CutPrefix(p.Name, "collet-plugin-"); {
	case long && validName().MatchString(short):
		return fmt.Errorf("the name %q: collet-plugin- is put in front of it anyway; call it %q", p.Name, short)
	case len(p.Name) > maxName:
		return fmt.Errorf("the name %q has %d characters; at most %d make the name of a server", p.Name, len(p.Name), maxName)
	case !validName().MatchString(p.Name), strings.Contains(p.Name, "__"):
		return fmt.Errorf("%q cannot be the name of a plugin: lower-case letters, digits, and between them single - or _", p.Name)
	}
	switch p.Kind {
	case Tools, Hook:
		return nil
	case URL:
		u, err := url.Parse(p.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return errors.New("the server's endpoint has to be an http:// or https:// URL")
		case u.User != nil:
			return errors.New("the server's endpoint has a credential in it, which would be in the program for everybody to read; leave it out, the plugin takes a token as a setting")
		}
		return nil
	case Command:
		if len(p.Command) == 0 || p.Command[0] == "" {
			return errors.New("the command that starts the server is empty")
		}
		return nil
	}
	return fmt.Errorf("there is no kind of plugin %q", p.Kind)
}
