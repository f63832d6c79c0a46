// Package redact puts names in place of secrets. It knows exact values only, those
// it was told of; which values are secret is for others to say, and what a tool
// answers is never its business.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Shorter values are left alone: a text without "true" or "8080" would no longer
// say what is wrong. Of a value of several words, as "Bearer TOKEN", each long one
// counts by itself.
const (
	minValue = 6 // bytes
	minWord  = 8
)

// maxTokens bounds how many tokens of one name are remembered: each is followed by
// another one, and what was valid that many tokens ago no longer is.
const maxTokens = 64

// Set is a set of secrets. The zero value is empty, a nil one stays so. Its methods
// are safe for concurrent use.
type Set struct {
	mu       sync.Mutex
	names    map[string]string   // what stands for each spelling of a secret
	tokens   map[string][]string // by name, oldest first
	replacer atomic.Pointer[strings.Replacer]
}

// Add puts "[name]" in place of value from now on, in each of the spellings that
// values have in JSON, URLs, Go strings and Basic credentials. A secret that was
// added under another name before keeps that.
func (s *Set) Add(name, value string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addLocked(name, value) {
		s.rebuildLocked()
	}
}

// AddToken is Add for a secret that is replaced now and then: of one name the last
// 64 count.
func (s *Set) AddToken(name, value string) {
	if s == nil || len(value) < minValue {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.tokens[name]
	if slices.Contains(known, value) {
		return
	}
	if s.tokens == nil {
		s.tokens = map[string][]string{}
	}
	if len(known) == maxTokens {
		for _, spelling := range spellings(known[0]) {
			delete(s.names, spelling)
		}
		known = known[1:]
	}
	s.tokens[name] = append(slices.Clip(known), value)
	s.addLocked(name, value)
	s.rebuildLocked()
}

func (s *Set) addLocked(name, value string) (added bool) {
	if len(value) < minValue {
		return false
	}
	if s.names == nil {
		s.names = map[string]string{}
	}
	stand := "[" + plain.Replace(name) + "]"
	for _, v := range spellings(value) {
		if _, ok := s.names[v]; !ok {
			s.names[v], added = stand, true
		}
	}
	return added
}

// plain keeps a name from ending a string that it comes to stand in.
var plain = strings.NewReplacer(`"`, "_", `\`, "_", "\n", "_", "\r", "_")

// spellings are the texts as which a value may come back.
func spellings(value string) []string {
	all := []string{value}
	for _, part := range slices.Concat([]string{value}, words(value)) {
		all = append(all, part, url.QueryEscape(part), url.PathEscape(part),
			strings.Trim(strconv.Quote(part), `"`), inJSON(part, true), inJSON(part, false),
			base64.StdEncoding.EncodeToString([]byte(part)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// words are the long words of a value that has several, and the lines of a key in
// PEM, without what they all have.
func words(value string) (long []string) {
	all := strings.Fields(value)
	if len(all) < 2 {
		return nil
	}
	for _, w := range all {
		if len(w) >= minWord && !strings.HasPrefix(w, "-----") && !strings.HasSuffix(w, "-----") {
			long = append(long, w)
		}
	}
	return long
}

// inJSON spells a value as it looks within a JSON string.
func inJSON(value string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(value) != nil {
		return value
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

func (s *Set) rebuildLocked() {
	values := make([]string, 0, len(s.names))
	for v := range s.names {
		values = append(values, v)
	}
	// Where one value begins with another, the longer one counts.
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, v, s.names[v])
	}
	s.replacer.Store(strings.NewReplacer(pairs...))
}

// Text is text with names in place of secrets.
func (s *Set) Text(text string) string {
	if s == nil || text == "" {
		return text
	}
	if r := s.replacer.Load(); r != nil {
		return r.Replace(text)
	}
	return text
}

// JSON is raw with names in place of secrets: what was JSON is JSON, and what holds
// none is returned as it is.
func (s *Set) JSON(raw []byte) []byte {
	if len(raw) == 0 {
		return raw
	}
	text := s.Text(string(raw))
	if text == string(raw) {
		return raw
	}
	if json.Valid([]byte(text)) || !json.Valid(raw) {
		return []byte(text)
	}
	// A number was one: then all of it becomes a text.
	return []byte(strconv.Quote(strings.ToValidUTF8(plain.Replace(text), "")))
}

// Holds reports whether a secret is in text.
func (s *Set) Holds(text string) bool { return s.Text(text) != text }
