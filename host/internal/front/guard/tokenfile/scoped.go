package tokenfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/name"
)

const mostGlobs = 256 // of a token, at most so long each
const longestGlob = 256

// fault is what is wrong with one key of a file.
type fault struct {
	path    []string
	message string
}

func (f *fault) Error() string { return toml.Key(f.path).String() + ": " + f.message }

func faultf(path []string, format string, args ...any) error {
	return &fault{path, fmt.Sprintf(format, args...)}
}

// scoped parses a file of Scoped. Any fault makes the whole file one: half of it
// would be other rights than were written down.
func scoped(text []byte) ([]entry, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the file is not UTF-8")
	}
	var file map[string]any
	if err := decode(string(text), &file); err != nil {
		return nil, err
	}
	entries, err := tokens(file)
	if f, ok := errors.AsType[*fault](err); ok {
		line, column := position(string(text), f.path)
		return nil, fmt.Errorf("line %d, column %d: %w", line, column, f)
	}
	return entries, err
}

func tokens(file map[string]any) ([]entry, error) {
	if err := only(file, nil, "tokens"); err != nil {
		return nil, err
	}
	if file["tokens"] == nil {
		return nil, nil
	}
	tables, ok := file["tokens"].(map[string]any)
	if !ok {
		return nil, faultf([]string{"tokens"}, "write a table for each token: [tokens.NAME]")
	}
	var entries []entry
	owner := map[[sha256.Size]byte]string{}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		path := []string{"tokens", id}
		table, ok := tables[id].(map[string]any)
		if !ok {
			return nil, faultf(path, "write a table: [tokens.NAME]")
		}
		p, hashes, err := token(path, id, table)
		if err != nil {
			return nil, err
		}
		for _, hash := range hashes {
			if other, taken := owner[hash]; taken {
				return nil, faultf(append(path, "sha256"), "tokens.%s has this token already, and a token is one principal's", other)
			}
			owner[hash] = id
			entries = append(entries, entry{hash, p})
		}
		if len(entries) > mostTokens {
			return nil, faultf(path, "there are more than %d tokens", mostTokens)
		}
	}
	return entries, nil
}

func token(path []string, id string, table map[string]any) (*guard.Principal, [][sha256.Size]byte, error) {
	if err := only(table, path, "sha256", "servers", "tools", "exposure", "expires"); err != nil {
		return nil, nil, err
	}
	if !plainName(id) {
		return nil, nil, faultf(path, "a name has at most 64 letters, digits and characters of . _ - @")
	}
	hashes, err := hashes(path, table["sha256"])
	if err != nil {
		return nil, nil, err
	}
	var grant guard.Grant
	if table["servers"] == nil {
		return nil, nil, faultf(path, `servers is missing: name the servers that the token may use, or write servers = ["*"]`)
	}
	if grant.Servers, err = globs(append(path, "servers"), table["servers"]); err != nil {
		return nil, nil, err
	}
	if table["tools"] != nil {
		if grant.Tools, err = globs(append(path, "tools"), table["tools"]); err != nil {
			return nil, nil, err
		}
	}
	if said := table["exposure"]; said != nil {
		word, _ := said.(string)
		if grant.Ceiling, err = exposure.Parse(word); err != nil || grant.Ceiling == exposure.Hidden {
			return nil, nil, faultf(append(path, "exposure"), `write "direct", "deferred" or "codemode"`)
		}
	}
	p := &guard.Principal{ID: "token:" + id, Grants: []guard.Grant{grant}}
	if said := table["expires"]; said != nil {
		at, ok := said.(time.Time)
		if !ok || strings.HasSuffix(at.Location().String(), "-local") { // the library's mark of a time without an offset
			return nil, nil, faultf(append(path, "expires"), "write a date with time and offset, without quotes: 2027-01-01T00:00:00Z")
		}
		p.Expires = at
	}
	return p, hashes, nil
}

func hashes(path []string, said any) ([][sha256.Size]byte, error) {
	path = append(path, "sha256")
	list, ok := said.([]any)
	if !ok {
		list = []any{said}
	}
	var out [][sha256.Size]byte
	for _, v := range list {
		s, _ := v.(string)
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != sha256.Size {
			// Not even a part of what stands there: it may be the token itself.
			return nil, faultf(path, `write the token's SHA-256 as 64 hexadecimal digits, never the token: printf %%s "$TOKEN" | sha256sum`)
		}
		out = append(out, [sha256.Size]byte(b))
	}
	if len(out) == 0 {
		return nil, faultf(path, "there is none; remove the whole table to withdraw a token")
	}
	return out, nil
}

func globs(path []string, said any) ([]string, error) {
	list, ok := said.([]any)
	if !ok {
		return nil, faultf(path, `write an array of strings: ["first", "second"]`)
	}
	if len(list) == 0 || len(list) > mostGlobs {
		return nil, faultf(path, `write 1 to %d patterns, ["*"] for everything`, mostGlobs)
	}
	var out []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok || s == "" || len(s) > longestGlob {
			return nil, faultf(path, "a pattern is a string of 1 to %d bytes", longestGlob)
		}
		out = append(out, s)
	}
	return out, nil
}

// only faults the first key that is not among known.
func only(table map[string]any, path []string, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if slices.Contains(known, key) {
			continue
		}
		if near := name.Near(key, known, 1); len(near) > 0 {
			return faultf(append(path, key), "unknown key; did you mean %s?", near[0])
		}
		return faultf(append(path, key), "unknown key; known here: %s", strings.Join(known, ", "))
	}
	return nil
}

func plainName(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("._-@", c) >= 0) {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// decode reads TOML. The error says where, not what stands there: the library
// quotes it.
func decode(text string, into any) (err error) {
	// It answers some inputs with a panic of its own.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the file is not TOML that can be read")
		}
	}()
	_, err = toml.Decode(text, into)
	if fault, ok := errors.AsType[toml.ParseError](err); ok {
		line, column := lineOf(text, fault)
		return fmt.Errorf("line %d, column %d: this is not TOML", line, column)
	}
	if err != nil {
		return errors.New("the file is not TOML that can be read")
	}
	return nil
}

// position finds a key again. The library keeps positions to itself, but says where
// it was when a value refuses to be read; so the value under that key does.
func position(text string, path []string) (line, column int) {
	for ; len(path) > 0; path = path[:len(path)-1] {
		into := reflect.TypeFor[refusing]()
		for _, key := range slices.Backward(path) {
			into = reflect.StructOf([]reflect.StructField{{Name: "Value", Type: into, Tag: reflect.StructTag("toml:" + strconv.Quote(key))}})
		}
		_, err := toml.Decode(text, reflect.New(into).Interface())
		if fault, ok := errors.AsType[toml.ParseError](err); ok {
			return lineOf(text, fault)
		}
	}
	return 1, 1
}

// refusing is a value that no TOML can be read into.
type refusing struct{}

func (*refusing) UnmarshalTOML(any) error { return errors.New("found") }

// lineOf counts for itself: the library's line and column disagree at the end of a
// line, its offset is right.
func lineOf(text string, fault toml.ParseError) (line, column int) {
	before := text[:min(max(fault.Position.Start, 0), len(text))]
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
}
