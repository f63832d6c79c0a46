package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// pattern is one kind of credential.
type pattern struct {
	name string // "a GitHub token"
	re   *regexp.Regexp
}

// rules are credentials that their issuers gave a form nothing else has.
var rules = []pattern{
	{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b`)},
	{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{"an AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"a Google API key", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abposr]-[A-Za-z0-9-]{10,}`)},
	{"a Stripe key", regexp.MustCompile(`\b[sr]k_live_[A-Za-z0-9]{20,}`)},
	{"an npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{"an API key", regexp.MustCompile(`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}`)},
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
}

const redacted = "[redacted]"

// scan returns raw with every credential in its strings replaced, and the kinds that
// were found. Everything else stays byte for byte.
func (s *scanner) scan(raw json.RawMessage) (clean json.RawMessage, found []string) {
	var out bytes.Buffer
	kept := 0 // raw[:kept] is in out
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(raw) {
			break // no JSON; the host does not pass on such
		}
		literal := raw[i : end+1]
		if text, kinds := s.clean(unquoted(literal)); len(kinds) > 0 {
			out.Write(raw[kept:i])
			out.Write(quoted(text))
			kept = end + 1
			for _, k := range kinds {
				if !slices.Contains(found, k) {
					found = append(found, k)
				}
			}
		}
		i = end
	}
	if len(found) == 0 {
		return raw, nil
	}
	out.Write(raw[kept:])
	return out.Bytes(), found
}

func (s *scanner) clean(text string) (string, []string) {
	var kinds []string
	for _, p := range s.rules {
		if p.re.MatchString(text) {
			kinds = append(kinds, p.name)
			text = p.re.ReplaceAllLiteralString(text, redacted)
		}
	}
	return text, kinds
}

// unquoted is the text of a JSON string.
func unquoted(literal []byte) string {
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1])
	}
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return string(literal)
	}
	return text
}

func quoted(text string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
