package config

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// hidden stands where something was left out.
const hidden = "(hidden)"

// Conceal returns the setting with everything left out that may be a secret. It
// rather hides too much:
//
//   - in env, headers and config, and of client_secret and token_command in oauth, all but true and false, and values that
//     only name variables ("${TOKEN}", "Bearer $TOKEN"), less their defaults;
//   - of a url, user and password, the values of the query, the fragment, and
//     parts of the path that look random;
//   - in args, what follows or belongs to a flag or variable whose name sounds
//     like a secret, any NAME=value, scripts and JSON with such a name in them,
//     what looks random, and the same parts of addresses.
//
// Everything else is no place for a secret and stays.
func (s Setting) Conceal() Setting {
	if s.path[0] == "host" {
		return s
	}
	before := s.Value
	switch s.path[2] {
	case "env", "headers", "config":
		s.Value = concealed(gjson.ParseBytes(s.Value))
	case "oauth":
		s.Value = concealOAuth(s.path, gjson.ParseBytes(s.Value))
	case "url":
		s.Value = jsonString(concealURL(gjson.ParseBytes(s.Value).String()))
	case "args":
		s.Value = concealArgs(gjson.ParseBytes(s.Value))
	}
	s.Hidden = !bytes.Equal(before, s.Value)
	return s
}

// concealed is JSON without the values that may be secrets, and with its keys.
func concealed(v gjson.Result) []byte {
	switch {
	case v.IsObject(), v.IsArray():
		var b bytes.Buffer
		open, end := byte('{'), byte('}')
		if v.IsArray() {
			open, end = '[', ']'
		}
		b.WriteByte(open)
		v.ForEach(func(k, item gjson.Result) bool {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			if open == '{' {
				b.WriteString(k.Raw + ":")
			}
			b.Write(concealed(item))
			return true
		})
		b.WriteByte(end)
		return b.Bytes()
	case v.Type == gjson.True, v.Type == gjson.False:
		return []byte(v.Raw)
	case v.Type == gjson.String && v.String() != "": // an empty one may stand for a secret that is missing
		return jsonString(concealValue(v.String()))
	}
	return jsonString(hidden)
}

// concealOAuth leaves out the values of the table that are secrets, and what may be
// one in its addresses.
func concealOAuth(path []string, v gjson.Result) []byte {
	switch {
	case len(path) > 3 && slices.Contains(secretOAuth, path[3]):
		return concealed(v)
	case v.Type == gjson.String && strings.Contains(v.String(), "://"):
		return jsonString(concealURL(v.String()))
	}
	return []byte(v.Raw)
}

// variables matches text that names variables and nothing else but a default for
// each. Names are in capitals: "$ecret" is more likely a password.
var (
	variables = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:Bearer|Basic|Token) )?(?:\$[A-Z_][A-Z0-9_]*|\$\{[A-Z_][A-Z0-9_]*(?::-[^${}]*)?\}|\$\{(?:file|keyring):[^${}]+\})+$`)
	})
	defaultSet = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:-[^${}]+\}`) })
)

// concealValue leaves of value the names of variables, if it consists of such.
func concealValue(value string) string {
	switch {
	case value == "":
		return ""
	case variables().MatchString(value):
		return defaultSet().ReplaceAllString(value, ":-"+hidden+"}")
	case strings.HasPrefix(value, "!") && !strings.HasPrefix(value, "!!"):
		return "!" + hidden
	}
	return hidden
}

// concealURL works on the text, which may hold variables and so be no address yet.
func concealURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return concealRandom(text)
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	host, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = concealValue(host[:at]) + host[at:]
	}
	out := scheme + "://" + concealRandom(host)
	if hasPath {
		out += "/" + concealRandom(path)
	}
	if hasQuery {
		parts := strings.Split(query, "&")
		for i, part := range parts {
			if k, v, ok := strings.Cut(part, "="); ok {
				parts[i] = k + "=" + concealValue(v)
			} else {
				parts[i] = concealValue(part)
			}
		}
		out += "?" + strings.Join(parts, "&")
	}
	if hasFragment {
		out += "#" + concealValue(fragment)
	}
	return out
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)token|key|secret|passw|pwd|cred|auth|bearer|cookie|session|private|signature|header|^-+(h|u|p|pat)$`)
	})
	// A variable of the shell, as in docker run -e NAME=value.
	assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-e|--env=)?[A-Za-z_][A-Za-z0-9_]*=`) })
	// What may be random: long, and of one piece.
	piece = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9_+=-]{16,}`) })
	// The beginnings of well-known kinds of tokens.
	tokenPrefix = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|npm|pypi|AKIA|ASIA|eyJ|AIza)[-_A-Za-z0-9]{8,}[-_.A-Za-z0-9]*`)
	})
)

func concealArgs(args gjson.Result) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	secretFollows := false
	args.ForEach(func(_, v gjson.Result) bool {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		arg := v.String()
		isFlag := strings.HasPrefix(arg, "-")
		name, value, assigns := strings.Cut(arg, "=")
		switch {
		case secretFollows && !isFlag:
			arg = concealValue(arg)
			secretFollows = false
		case assigns && (assignment().MatchString(arg) || isFlag && secretName().MatchString(name)):
			if flag, variable, ok := strings.Cut(value, "="); isFlag && ok { // --env=NAME=value
				name, value = name+"="+flag, variable
			}
			arg = name + "=" + concealValue(value)
			secretFollows = false
		case strings.ContainsAny(arg, " \t\n\"") && secretName().MatchString(arg): // a script or JSON
			arg, secretFollows = hidden, false
		default:
			arg = concealURL(arg)
			secretFollows = isFlag && !assigns && secretName().MatchString(name)
		}
		b.Write(jsonString(arg))
		return true
	})
	b.WriteByte(']')
	return b.Bytes()
}

// concealRandom leaves out what looks like a token: one with a prefix that says
// so, and long pieces with both letters and digits.
func concealRandom(text string) string {
	text = tokenPrefix().ReplaceAllString(text, hidden)
	return piece().ReplaceAllStringFunc(text, func(p string) string {
		if strings.ContainsAny(p, "0123456789") && strings.Trim(p, "0123456789") != "" {
			return hidden
		}
		return p
	})
}
