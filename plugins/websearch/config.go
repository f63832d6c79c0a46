package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/plugins/websearch/internal/guard"
	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

type config struct {
	Providers []string `json:"providers,omitempty" jsonschema:"which of the configured providers are asked, in this order; default: all, in the order searxng, brave, tavily, exa, serper, mcp:NAME by name, tavily-keyless, mcp:parallel, mcp:exa"`
	Keyless   bool     `json:"keyless,omitempty" jsonschema:"also ask services that want no key: they are rate-limited, and queries go to them without any contract"`

	SearXNG instance `json:"searxng,omitzero" jsonschema:"an instance of SearXNG, which has to answer in JSON"`
	Brave   service  `json:"brave,omitzero" jsonschema:"Brave Search; key defaults to BRAVE_API_KEY"`
	Tavily  service  `json:"tavily,omitzero" jsonschema:"Tavily; key defaults to TAVILY_API_KEY"`
	Exa     service  `json:"exa,omitzero" jsonschema:"Exa; key defaults to EXA_API_KEY"`
	Serper  service  `json:"serper,omitzero" jsonschema:"Serper; key defaults to SERPER_API_KEY"`

	MCP map[string]remote `json:"mcp,omitempty" jsonschema:"search servers over MCP, by name: mcp:NAME is the provider"`

	FetchNetworks []string `json:"fetch_networks,omitempty" jsonschema:"networks that fetch may reach although they are not public, as 10.1.0.0/16"`
}

type instance struct {
	URL string `json:"url,omitempty" jsonschema:"where its start page is; default SEARXNG_URL"`
}

type service struct {
	Key string `json:"key,omitempty" jsonschema:"the key of the service" collet:"secret"`
	URL string `json:"url,omitempty" jsonschema:"where the service is reached, when not at its own address"`
}

type remote struct {
	URL     string            `json:"url,omitempty" jsonschema:"the endpoint of the server"`
	Command []string          `json:"command,omitempty" jsonschema:"in place of url, the program to start, and its arguments"`
	Env     map[string]string `json:"env,omitempty" jsonschema:"variables of command, besides the usual ones" collet:"secret"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"sent with every request to url" collet:"secret"`
	Tool    string            `json:"tool,omitempty" jsonschema:"the tool to search with; default: the first that has search in its name and takes one query"`
}

// providerTimeout bounds one request to a provider: the next one should have its
// turn before the call's 30 s are over.
const providerTimeout = 10 * time.Second

// startTimeout is what a search server that is a program gets to come up, once, so
// that the search after it still ends within the call's time.
const startTimeout = 18 * time.Second

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	providers, err := cfg.chain(mcp.ClientInfo{Name: "collet", Version: env.HostVersion})
	if err != nil {
		return nil, err
	}
	if len(providers) == 0 {
		env.Log.Warn(nothingConfigured)
	}
	networks, err := cfg.networks()
	if err != nil {
		return nil, err
	}
	return newServer(providers, env.Log, guard.New(networks).Client()), nil
}

// chain returns the providers in the order in which they are asked.
func (c config) chain(me mcp.ClientInfo) ([]provider.Provider, error) {
	client := &http.Client{
		Timeout: providerTimeout,
		// A key must not follow a redirect to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var all []provider.Provider
	var problem error
	add := func(name string, s service, variable, home string, make func(*http.Client, string, string) provider.Provider) {
		key := cmp.Or(s.Key, os.Getenv(variable))
		if key == "" {
			return
		}
		base := cmp.Or(s.URL, home)
		problem = errors.Join(problem, checkBase(name, base), checkKey(name, key))
		all = append(all, make(client, strings.TrimRight(base, "/"), key))
	}
	if base := cmp.Or(c.SearXNG.URL, os.Getenv("SEARXNG_URL")); base != "" {
		problem = checkBase("searxng", base)
		all = append(all, provider.SearXNG(client, base))
	}
	add("brave", c.Brave, "BRAVE_API_KEY", provider.BraveURL, provider.Brave)
	add("tavily", c.Tavily, "TAVILY_API_KEY", provider.TavilyURL, provider.Tavily)
	add("exa", c.Exa, "EXA_API_KEY", provider.ExaURL, provider.Exa)
	add("serper", c.Serper, "SERPER_API_KEY", provider.SerperURL, provider.Serper)
	over := func(name string, r remote) {
		if len(r.Command) > 0 {
			if r.URL != "" || len(r.Headers) > 0 {
				problem = errors.Join(problem, invalid("/mcp/"+name, "oneOf", "command excludes url and headers: a server is either started or reached"))
			}
			all = append(all, provider.MCP(provider.Remote{Name: name, Command: r.program(), Tool: r.Tool, Client: me, Timeout: providerTimeout, Start: startTimeout}))
			return
		}
		if len(r.Env) > 0 {
			problem = errors.Join(problem, invalid("/mcp/"+name+"/env", "dependentRequired", "env is for command"))
		}
		at := mcp.Endpoint{URL: r.URL, Header: http.Header{}}
		for header, value := range r.Headers {
			at.Header.Set(header, value)
		}
		if err := at.Check(); err != nil {
			problem = errors.Join(problem, invalid("/mcp/"+name, "format", failure.Classify(err).Message))
		}
		all = append(all, provider.MCP(provider.Remote{Name: name, At: at, Tool: r.Tool, Client: me, Timeout: providerTimeout}))
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		over(name, c.MCP[name])
	}
	if c.Keyless {
		all = append(all, provider.Tavily(client, strings.TrimRight(cmp.Or(c.Tavily.URL, provider.TavilyURL), "/"), ""))
		// An entry of the same name is that server, at its own place in the order.
		for _, k := range []struct{ name, url string }{{"parallel", provider.ParallelURL}, {"exa", provider.ExaMCPURL}} {
			if _, own := c.MCP[k.name]; !own {
				over(k.name, remote{URL: k.url})
			}
		}
	}
	if problem != nil {
		return nil, problem
	}
	return c.ordered(all)
}

// program is the server to start. It sees what this process sees, less what is between
// collet and its plugins and the keys of other services.
func (r remote) program() *mcp.Command {
	cmd := &mcp.Command{Path: r.Command[0], Args: r.Command[1:], Env: []string{}}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "COLLET_") && !strings.HasPrefix(name, "PLUGIN_") && !slices.Contains(variables, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		cmd.Env = append(cmd.Env, name+"="+r.Env[name])
	}
	return cmd
}

// ordered applies providers.
func (c config) ordered(all []provider.Provider) ([]provider.Provider, error) {
	if len(c.Providers) == 0 {
		return all, nil
	}
	var chosen []provider.Provider
	for i, name := range c.Providers {
		at := slices.IndexFunc(all, func(p provider.Provider) bool { return p.Name() == name })
		if at < 0 {
			return nil, invalid("/providers/"+strconv.Itoa(i), "enum", fmt.Sprintf("there is no provider %q with what it needs: %s", name, needs(name)))
		}
		if slices.Contains(c.Providers[:i], name) {
			return nil, invalid("/providers/"+strconv.Itoa(i), "uniqueItems", fmt.Sprintf("%q is there twice", name))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// needs says what makes a provider usable.
func needs(name string) string {
	switch name {
	case "searxng":
		return "set searxng.url or SEARXNG_URL"
	case "brave", "tavily", "exa", "serper":
		return "set " + name + ".key or " + strings.ToUpper(name) + "_API_KEY"
	case "tavily-keyless", "mcp:parallel", "mcp:exa":
		return "set keyless = true"
	}
	return "there are searxng, brave, tavily, exa, serper, tavily-keyless and mcp:NAME"
}

func (c config) networks() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for i, s := range c.FetchNetworks {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, invalid("/fetch_networks/"+strconv.Itoa(i), "format", fmt.Sprintf("%q is no network such as 10.1.0.0/16", s))
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

func checkBase(name, base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return invalid("/"+name+"/url", "format", "the address of "+name+" must be http://... or https://..., without a query")
	}
	return nil
}

// checkKey keeps what cannot be in a header from failing every search.
func checkKey(name, key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid("/"+name+"/key", "pattern", "the key of "+name+" has a space, a line break or a character in it that no key has")
	}
	return nil
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
