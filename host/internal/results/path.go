package results

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// maxPath is the longest path, in bytes.
	maxPath = 1 << 10
	// maxSelection bounds what a selection {a,b} can make of a result, in bytes: it
	// may write its own text for every element.
	maxSelection = 512 << 20
	fromString   = "@fromstr"
)

// modifiers are those of GJSON whose answer is no larger than what they are given
// and which do not descend. A path comes from a model, and the others, chained,
// need any amount of memory.
var modifiers = []string{"@this", "@keys", "@values", "@reverse", "@flatten", fromString}

// checkPath refuses what could cost too much, whatever the result is.
func checkPath(path string) error {
	if len(path) > maxPath {
		return refused(failure.InvalidArguments, "the path has %d bytes, and the limit is %d", len(path), maxPath)
	}
	for i := range len(path) {
		if path[i] != '@' || i > 0 && !strings.ContainsRune(".|{[,:", rune(path[i-1])) {
			continue
		}
		end := i + 1
		for end < len(path) && !strings.ContainsRune(".|}],", rune(path[end])) {
			end++
		}
		if !slices.Contains(modifiers, path[i:end]) {
			return refused(failure.InvalidArguments, "path %q: of GJSON's modifiers there are %s; write \\@ for a key that begins so", path, strings.Join(modifiers, ", "))
		}
	}
	if selections(path) > 1 {
		return refused(failure.InvalidArguments, "path %q: there may be one selection, {a,b} or [a,b]", path)
	}
	return nil
}

func selections(path string) int { return strings.Count(path, "{") + strings.Count(path, "[") }

// valueAt is the value at a path: what a string holds, the JSON of every other.
func valueAt(raw []byte, path string) (value string, err error) {
	// What is here is a stranger's parser at work on a stranger's bytes, with a
	// model's path.
	defer func() {
		if p := recover(); p != nil {
			value, err = "", refused(failure.InvalidArguments, "path %q cannot be followed: %v", path, p)
		}
	}()
	steps := strings.Split(path, fromString)
	if n := len(raw) * len(path); selections(path) > 0 && n > maxSelection {
		return "", refused(failure.InvalidArguments, "path %q: the result is too large for a selection; ask for one part at a time", path)
	}
	for i, step := range steps {
		if i > 0 {
			if !json.Valid(raw) { // it bounds the depth, gjson does not
				return "", refused(failure.InvalidArguments, "path %q: what %s is applied to is no JSON text", path, fromString)
			}
			step = strings.TrimLeft(step, ".|")
		}
		if i < len(steps)-1 {
			step = strings.TrimRight(step, ".|")
		}
		if step == "" || step == "@this" { // white space around it included
			continue
		}
		found := gjson.GetBytes(raw, step)
		if !found.Exists() {
			return "", refused(failure.NotFound, "the result has nothing at %s%s", path, top(raw))
		}
		last := i == len(steps)-1
		if found.Type == gjson.String || found.Raw == "" {
			raw = []byte(found.String())
		} else if raw = []byte(found.Raw); !last {
			return "", refused(failure.InvalidArguments, "path %q: what %s is applied to is no string", path, fromString)
		}
	}
	return string(bytes.ToValidUTF8(raw, []byte("\uFFFD"))), nil
}

// maxKeys bounds how many keys a message names, maxKey how long each is.
const (
	maxKeys = 16
	maxKey  = 64
)

// top says, to who guessed a path, what there is: the keys of the object, those of
// structuredContent in full.
func top(raw []byte) string {
	var keys []string
	add := func(prefix string) func(k, _ gjson.Result) bool {
		return func(k, _ gjson.Result) bool {
			if key := k.String(); len(key) <= maxKey {
				keys = append(keys, prefix+strings.ToValidUTF8(key, "\uFFFD"))
			}
			return len(keys) < maxKeys
		}
	}
	root := gjson.ParseBytes(raw)
	if !root.IsObject() {
		return ""
	}
	root.ForEach(add(""))
	if sc := root.Get("structuredContent"); sc.IsObject() {
		sc.ForEach(add("structuredContent."))
	}
	if len(keys) == 0 {
		return ""
	}
	return "; there are " + strings.Join(keys, ", ")
}
