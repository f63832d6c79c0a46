package server

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/redact"
	"github.com/collet-dev/collet/sdk/describe"
)

// harmless are variables that are part of many messages and no secret.
var harmless = []string{"PATH", "HOME", "USER", "SHELL", "LANG", "TMPDIR", "PWD"}

// plainHeaders are headers whose values are words of the protocol.
var plainHeaders = []string{"accept", "accept-language", "content-type", "user-agent"}

// credentialWords end the names of variables and options that hold credentials: a
// command server inherits all, and may tell what it has when it ends badly.
var credentialWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "PAT", "CREDENTIALS"}

// values sorts an entry's values: the secrets among them go to the set of the whole
// host, all of them to the server's own, which only what says so shows less of
// (Redact).
type values struct{ secrets, all *redact.Set }

// secret adds a value that is one, whatever it looks like.
func (v values) secret(name, value string) {
	v.all.Add(name, value)
	v.secrets.Add(name, value)
}

// value adds a value that is a secret if its name or its looks say so.
func (v values) value(name, key, value string) {
	v.all.Add(name, value)
	if isCredential(key) || config.LooksSecret(key, value) {
		v.secrets.Add(name, value)
	}
}

// foresee takes note of the secrets that are known before anything is resolved:
// inherited variables, and those that an entry names. A command that fails is quoted,
// and a call's arguments are recorded, also of a server that was not started yet.
func (s *Server) foresee(set *config.Server) {
	v := s.values()
	v.environ(s.env.Environ)
	v.references(set.References(s.env.Resolver), s.env.Resolver)
}

// ForeseeSecrets remembers those of a hook that are known before its entry is
// resolved: inherited variables, and those that its values name.
func ForeseeSecrets(in *redact.Set, refs []config.Reference, r config.Resolver, environ []string) {
	v := values{secrets: in}
	v.environ(environ)
	v.references(refs, r)
}

// references adds the variables that values name.
func (v values) references(refs []config.Reference, r config.Resolver) {
	if r.Lookup == nil {
		return
	}
	for _, ref := range refs {
		for _, x := range ref.Variables {
			value, ok := r.Lookup(x.Name)
			switch {
			case !ok || !ref.Secret || slices.Contains(harmless, x.Name):
			case config.LooksPlain(value) && !isCredential(x.Name):
				v.all.Add("$"+x.Name, value)
			default:
				v.secret("$"+x.Name, value)
			}
		}
	}
}

func (v values) environ(environ []string) {
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); isCredential(name) {
			v.secret("$"+name, value)
		}
	}
}

func (s *Server) values() values { return values{s.env.Secrets, &s.shown} }

// keepSecrets remembers what the entry's values turned out to be. desc, which may be
// nil, tells the secrets of its config.
func (s *Server) keepSecrets(set *config.Server, res *config.Resolved, desc *describe.Description) {
	v := s.values()
	v.env(res)
	for k, value := range res.Headers {
		if slices.Contains(plainHeaders, strings.ToLower(k)) {
			v.value("headers."+k, k, value)
		} else {
			v.secret("headers."+k, value)
		}
	}
	var schema gjson.Result
	if desc != nil {
		schema = gjson.ParseBytes(desc.ConfigSchema)
	}
	v.config("config", gjson.ParseBytes(res.Config), schema, false)
	v.secret("oauth.client_secret", gjson.GetBytes(res.OAuth, "client_secret").String())
	v.args(res.Args)
	v.url(res.URL)
}

// KeepSecrets remembers those of a hook: of its variables, and of its config, by the
// schema in desc.
func KeepSecrets(in *redact.Set, res *config.Resolved, desc *describe.Description) {
	v := values{secrets: in}
	v.env(res)
	v.config("config", gjson.ParseBytes(res.Config), gjson.ParseBytes(desc.ConfigSchema), false)
}

func (v values) env(res *config.Resolved) {
	for _, f := range res.Fetched {
		v.secret(f.Key, f.Value)
	}
	for k, value := range res.Env {
		if !slices.Contains(harmless, k) {
			v.value("env."+k, k, value)
		}
	}
}

// url adds what is secret in an address: its password, alone and as it is sent, and
// the values of its query.
func (v values) url(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		v.secret("url", password)
		v.secret("url", u.User.Username()+":"+password)
	}
	for key, values := range u.Query() {
		for _, value := range values {
			v.value("url", key, value)
			if !config.LooksPlain(value) {
				v.secret("url", value)
			}
		}
	}
}

// args adds what belongs to an option named like a credential: "--api-key K" or
// "--api-key=K".
func (v values) args(args []string) {
	for i, name := range secretArgs(args) {
		value := args[i]
		if name != "args" {
			_, value, _ = strings.Cut(value, "=")
		}
		v.secret(name, value)
	}
}

// secretArgs are the arguments that belong to an option named like a credential, by
// their index: the option of "--api-key=K", "args" for K of "--api-key K".
func secretArgs(args []string) map[int]string {
	found := map[int]string{}
	follows := false
	for i, arg := range args {
		name, _, assigns := strings.Cut(arg, "=")
		option := strings.HasPrefix(arg, "-")
		switch {
		case option && assigns && isCredential(name):
			found[i] = name
		case !option && follows:
			found[i] = "args"
		}
		follows = option && !assigns && isCredential(name)
	}
	return found
}

// exposed are the indexes of the arguments of a command that hold a secret: on a
// command line others can read it.
func (s *Server) exposed(res *config.Resolved) (found []int) {
	var known redact.Set
	v := values{secrets: &known}
	v.environ(s.env.Environ)
	v.env(res)
	v.args(res.Args)
	for i, arg := range res.Args {
		if known.Holds(arg) {
			found = append(found, i)
		}
	}
	return found
}

// isCredential reports whether the last word of a name is one of credentialWords.
func isCredential(name string) bool {
	return slices.Contains(credentialWords, strings.ToUpper(name[strings.LastIndexAny(name, "_-")+1:]))
}

// config adds the texts of a plugin's settings. schema is the plugin's own for item;
// marked says that it, or what is around it, is marked as secret. What the plugin says is
// none is shown whatever it is called.
func (v values) config(name string, item, schema gjson.Result, marked bool) {
	marked = marked || schema.Get("x-collet-secret").Bool()
	switch {
	case item.Type == gjson.String && marked:
		v.secret(name, item.String())
	case item.Type == gjson.String && schema.Get("x-collet-secret").IsBool(): // none, by the plugin's word
		v.all.Add(name, item.String())
	case item.Type == gjson.String:
		v.value(name, name[strings.LastIndexByte(name, '.')+1:], item.String())
	}
	if !item.IsObject() && !item.IsArray() {
		return // ForEach would hand a plain value back
	}
	item.ForEach(func(key, inner gjson.Result) bool {
		below := schema.Get("items")
		if item.IsObject() {
			if below = schema.Get("properties." + gjson.Escape(key.String())); !below.Exists() {
				below = schema.Get("additionalProperties")
			}
		}
		v.config(name+"."+key.String(), inner, below, marked)
		return true
	})
}

// Redact puts, in a text of the server or about it, names in place of the values of
// its env, headers and config, of the variables it names, and of inherited
// variables and arguments named like credentials: what a person may show to others must not hold
// them. Before the values were resolved none can be in it.
func (s *Server) Redact(text string) string { return s.env.Secrets.Text(s.shown.Text(text)) }

// conceal is f, which nobody else has yet, with names in place of secrets: what an
// upstream or its adapter says is repeated to models, logs and records.
func (s *Server) conceal(f *Failure) *Failure {
	if f == nil {
		return nil
	}
	clean := s.env.Secrets
	f.Message, f.Challenge, f.Target = clean.Text(f.Message), clean.Text(f.Challenge), clean.Text(f.Target)
	f.UpstreamData = clean.JSON(f.UpstreamData)
	for i := range f.Problems {
		f.Problems[i].Message = clean.Text(f.Problems[i].Message)
	}
	for i := range f.StderrTail {
		f.StderrTail[i] = clean.Text(f.StderrTail[i])
	}
	return f
}
