package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collet-dev/collet/plugins/github/internal/reach"
	"github.com/collet-dev/collet/plugins/github/internal/token"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

type config struct {
	Host string `json:"host,omitempty" jsonschema:"github.com when left out, or the host of a GitHub Enterprise Cloud with data residency: acme.ghe.com"`
	URL  string `json:"url,omitempty" jsonschema:"the MCP endpoint, where host does not tell"`

	Command string   `json:"command,omitempty" jsonschema:"a github-mcp-server to start instead of reaching the hosted one; needed for GitHub Enterprise Server"`
	Args    []string `json:"args,omitempty" jsonschema:"its arguments; stdio when left out"`

	Token string `json:"token,omitempty" jsonschema:"a GitHub token; when left out GITHUB_TOKEN counts, then what gh auth token says" collet:"secret"`

	Toolsets []string `json:"toolsets,omitempty" jsonschema:"sets of tools to offer: repos, issues, pull_requests, ..., all"`
	Tools    []string `json:"tools,omitempty" jsonschema:"single tools to offer; create_repository and push_files when toolsets is left out, too"`
	Exclude  []string `json:"exclude,omitempty" jsonschema:"tools not to offer, whatever else is said"`

	Root string `json:"root,omitempty" jsonschema:"the directory that push_directory may read, absolute; when left out the one that collet runs in, unless that is / or the home directory"`

	ReadOnly bool     `json:"readonly,omitempty" jsonschema:"offer only tools that change nothing"`
	Lockdown bool     `json:"lockdown,omitempty" jsonschema:"of public repositories only show what people with push access wrote"`
	Writable []string `json:"writable,omitempty" jsonschema:"the repositories that may be written to: owner or owner/repo, with * in the repo; @me is the token's own account for create_repository and fork_repository. All when left out"`
}

const (
	publicHost = "github.com"
	publicURL  = "https://api.githubcopilot.com/mcp/"
	dataHost   = ".ghe.com" // of GitHub Enterprise Cloud with data residency
)

// check says what is wrong with a config before anything is started.
func (c config) check() error {
	if c.Command != "" && c.URL != "" {
		return invalid("/url", "oneOf", "command and url exclude each other: a server is either started or reached")
	}
	if why := c.rules().Check(); why != "" {
		return invalid("/writable", "format", why)
	}
	if c.Root != "" && !filepath.IsAbs(c.Root) {
		return invalid("/root", "format", "root must be an absolute path")
	}
	if c.Command == "" && c.URL == "" && c.host() != publicHost && !strings.HasSuffix(c.host(), dataHost) {
		return invalid("/host", "format", c.host()+" has no hosted MCP server: for GitHub Enterprise Server set command to a github-mcp-server, which then gets this host")
	}
	if u := c.endpoint(); strings.HasPrefix(u, "http://") && !token.OwnHost(u) {
		return invalid("/url", "format", "the token would travel in the clear: url must be https")
	}
	return nil
}

func (c config) host() string {
	if c.Host == "" {
		return publicHost
	}
	return strings.ToLower(c.Host)
}

func (c config) endpoint() string {
	switch {
	case c.URL != "":
		return c.URL
	case c.host() == publicHost:
		return publicURL
	default:
		return "https://copilot-api." + c.host() + "/mcp"
	}
}

func (c config) rules() reach.Rules {
	return reach.Rules{ReadOnly: c.ReadOnly, Writable: c.Writable}
}

// pushes says whether push_directory is offered.
func (c config) pushes() bool { return !c.ReadOnly && !slices.Contains(c.Exclude, pushDirectory) }

// single are the single tools to offer.
func (c config) single() []string {
	switch {
	case len(c.Tools) > 0 || len(c.Toolsets) > 0:
		return c.Tools
	case c.ReadOnly:
		return []string{"get_file_contents", "search_repositories"}
	default:
		return []string{"create_repository", "push_files"}
	}
}

// asked are the single tools to ask GitHub for: those that push_directory is made of
// are among them.
func (c config) asked() []string {
	list := slices.DeleteFunc(slices.Clone(c.single()), func(t string) bool { return t == pushDirectory })
	if c.pushes() {
		for _, t := range helpers {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// without are the tools to ask GitHub not to offer.
func (c config) without() []string {
	return slices.DeleteFunc(slices.Clone(c.Exclude), func(t string) bool {
		return t == pushDirectory || c.pushes() && slices.Contains(helpers, t)
	})
}

// offers says whether a tool of GitHub's list is passed on: not if it is only there
// for push_directory.
func (c config) offers(tool string) bool {
	if slices.Contains(c.Exclude, tool) {
		return false
	}
	if !c.pushes() || !slices.Contains(helpers, tool) || slices.Contains(c.single(), tool) {
		return true
	}
	return slices.ContainsFunc(c.Toolsets, func(set string) bool { return set == "repos" || set == "default" || set == "all" })
}

// headers are what the hosted server is told, which then lists nothing else.
func (c config) headers() http.Header {
	h := http.Header{}
	list := func(name string, values []string) {
		if len(values) > 0 {
			h.Set(name, strings.Join(values, ","))
		}
	}
	list("X-MCP-Toolsets", c.Toolsets)
	list("X-MCP-Tools", c.asked())
	list("X-MCP-Exclude-Tools", c.without())
	if c.ReadOnly {
		h.Set("X-MCP-Readonly", "true")
	}
	if c.Lockdown {
		h.Set("X-MCP-Lockdown", "true")
	}
	return h
}

// local is the server to start, with the same said in its environment.
func (c config) local(value string) mcp.Command {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { // what the host tells a plugin is not its business
		return strings.HasPrefix(e, "GITHUB_") || strings.HasPrefix(e, "COLLET_") || strings.HasPrefix(e, "PLUGIN_")
	})
	set := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	set("GITHUB_PERSONAL_ACCESS_TOKEN", value)
	if c.host() != publicHost {
		set("GITHUB_HOST", "https://"+c.host())
	}
	set("GITHUB_TOOLSETS", strings.Join(c.Toolsets, ","))
	set("GITHUB_TOOLS", strings.Join(c.asked(), ","))
	set("GITHUB_EXCLUDE_TOOLS", strings.Join(c.without(), ","))
	if c.ReadOnly {
		set("GITHUB_READ_ONLY", "true")
	}
	if c.Lockdown {
		set("GITHUB_LOCKDOWN_MODE", "true")
	}
	args := c.Args
	if len(args) == 0 {
		args = []string{"stdio"}
	}
	return mcp.Command{Path: c.Command, Args: args, Env: env}
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
