package server

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/config"
)

// Shorter values are left alone: a text without "true" or "8080" would no longer
// say what is wrong. Of a value of several words, as "Bearer TOKEN", each long one
// counts by itself.
const (
	minSecret     = 6 // bytes
	minSecretWord = 8
)

// harmless are variables that are part of many messages and no secret.
var harmless = []string{"PATH", "HOME", "USER", "SHELL", "LANG", "TMPDIR", "PWD"}

// credentialWords end the names of variables and options that hold credentials: a
// command server inherits all, and may tell what it has when it ends badly.
var credentialWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "PAT", "CREDENTIALS"}

// inJSON spells a value as it looks within a JSON string.
var inJSON = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// secrets maps values that may be credentials to what stands for them.
type secrets map[string]string

func (m secrets) add(value, name string) {
	if len(value) < minSecret {
		return
	}
	stand := "[" + name + "]"
	put := func(v string) {
		if _, ok := m[v]; !ok {
			m[v] = stand
		}
	}
	put(value)
	put(inJSON.Replace(value))
	put(url.QueryEscape(value))
	if words := strings.Fields(value); len(words) > 1 {
		for _, w := range words {
			if len(w) >= minSecretWord {
				put(w)
			}
		}
	}
}

// keepSecrets remembers what the entry's values turned out to be, for Redact.
func (s *Server) keepSecrets(set *config.Server, res *config.Resolved) {
	m := secrets{}
	for _, ref := range set.References(s.env.Resolver) {
		for _, v := range ref.Variables {
			if value, ok := s.env.Resolver.Lookup(v.Name); ok && ref.Secret && !slices.Contains(harmless, v.Name) {
				m.add(value, "$"+v.Name)
			}
		}
	}
	for _, table := range []struct {
		key    string
		values map[string]string
	}{{"env", res.Env}, {"headers", res.Headers}} {
		for k, v := range table.values {
			if !slices.Contains(harmless, k) {
				m.add(v, table.key+"."+k)
			}
		}
	}
	m.addStrings("config", gjson.ParseBytes(res.Config))
	m.addArgs(res.Args)
	if u, err := url.Parse(res.URL); err == nil {
		password, _ := u.User.Password()
		m.add(password, "url")
		for _, values := range u.Query() {
			for _, v := range values {
				m.add(v, "url")
			}
		}
	}
	for _, kv := range s.env.Environ {
		k, v, _ := strings.Cut(kv, "=")
		if isCredential(k) {
			m.add(v, "$"+k)
		}
	}
	s.mu.Lock()
	s.secret = m
	s.mu.Unlock()
}

// addArgs adds what belongs to an option named like a credential: "--api-key K" or
// "--api-key=K".
func (m secrets) addArgs(args []string) {
	follows := false
	for _, arg := range args {
		name, value, assigns := strings.Cut(arg, "=")
		option := strings.HasPrefix(arg, "-")
		switch {
		case option && assigns && isCredential(name):
			m.add(value, name)
		case !option && follows:
			m.add(arg, "args")
		}
		follows = option && !assigns && isCredential(name)
	}
}

// isCredential reports whether the last word of a name is one of credentialWords.
func isCredential(name string) bool {
	return slices.Contains(credentialWords, strings.ToUpper(name[strings.LastIndexAny(name, "_-")+1:]))
}

func (m secrets) addStrings(name string, v gjson.Result) {
	if v.Type == gjson.String {
		m.add(v.String(), name)
	}
	if !v.IsObject() && !v.IsArray() {
		return // ForEach would hand a plain value back
	}
	v.ForEach(func(key, item gjson.Result) bool {
		if k := key.String(); k != "" {
			m.addStrings(name+"."+k, item)
		} else {
			m.addStrings(name, item)
		}
		return true
	})
}

// Redact puts, in a text of the server or about it, names in place of the values of
// its env, headers and config, of the variables it names, and of inherited
// variables and arguments named like credentials: what a person may show to others must not hold
// them. Before the values were resolved none can be in it.
func (s *Server) Redact(text string) string {
	s.mu.Lock()
	m := s.secret
	s.mu.Unlock()
	if len(m) == 0 || text == "" {
		return text
	}
	values := make([]string, 0, len(m))
	for v := range m {
		values = append(values, v)
	}
	// Where one value begins with another, the longer one counts.
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, m[v])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
