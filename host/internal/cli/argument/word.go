package argument

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// Word is one argument as a person wrote it.
type Word struct {
	Key, Text string
	// JSON says that Text is JSON and goes on byte for byte (key:=json).
	JSON bool
	// File says that Text is the content of a file (key=@file).
	File bool
}

// ParseWord reads key=value, key:=json or key=@file. A file, "-" for stdin, is
// read at once. Keys are taken as they are: a dot in one means nothing.
func ParseWord(word string, stdin io.Reader) (Word, error) {
	key, text, ok := strings.Cut(word, "=")
	if !ok || key == "" || key == ":" {
		return Word{}, fmt.Errorf("%q is not an argument: write key=value, key:=json or key=@file", word)
	}
	w := Word{Key: key, Text: text}
	if k, ok := strings.CutSuffix(key, ":"); ok {
		w.Key, w.JSON = k, true
	} else if path, ok := strings.CutPrefix(text, "@"); ok {
		content, err := ReadText(path, stdin)
		if err != nil {
			return Word{}, fmt.Errorf(`argument %s: %w (for text that begins with @ write %s:='"@..."')`, key, err, key)
		}
		w.Text, w.File = string(content), true
	}
	if !utf8.ValidString(w.Key) || !utf8.ValidString(w.Text) {
		return Word{}, fmt.Errorf("argument %q is not UTF-8, which JSON text has to be", w.Key)
	}
	if w.JSON && !json.Valid([]byte(w.Text)) {
		return Word{}, fmt.Errorf("argument %s: what follows := is not JSON: %s", w.Key, w.Text)
	}
	return w, nil
}

// MaxText is how long a text may be, in bytes: no call takes longer arguments.
const MaxText = 64 << 20

// ReadText reads the file of that path, or stdin for "-". Longer than MaxText is
// an error.
func ReadText(path string, stdin io.Reader) ([]byte, error) {
	from := stdin
	switch path {
	case "":
		return nil, errors.New("the name of a file is missing behind @; - is stdin")
	case "-":
		path = "stdin"
	default:
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, MaxText+1))
	if err == nil && len(text) > MaxText {
		err = fmt.Errorf("%s is longer than %d MiB", path, MaxText>>20)
	}
	return text, err
}

// Object builds a tool's arguments from words, in the order given. inputSchema
// decides how each text is spelled:
//
//   - a string stays what it is, byte for byte; only null reads as JSON where
//     the schema allows a string or null;
//   - numbers, booleans, null and objects have to be written as JSON has them;
//   - an array is JSON, or one element; a repeated key collects elements;
//   - where several kinds are possible, or nothing is known, a text that is JSON
//     of a possible kind is that, and any other text a string. A file's content
//     is a string there.
//
// Numbers keep every digit. What fits no possible kind is returned as problems,
// all of them.
func Object(inputSchema json.RawMessage, words []Word) (json.RawMessage, []failure.Problem) {
	top := parse(inputSchema)
	var (
		order []string
		byKey = make(map[string][]Word)
	)
	for _, w := range words {
		if _, seen := byKey[w.Key]; !seen {
			order = append(order, w.Key)
		}
		byKey[w.Key] = append(byKey[w.Key], w)
	}
	var (
		object   rawjson.Object
		problems []failure.Problem
	)
	for _, key := range order {
		value, problem := spell(top.property(key, 0), byKey[key])
		if problem != "" {
			problems = append(problems, failure.Problem{Path: pointer(key), Rule: "type", Message: problem})
			continue
		}
		object.Raw(key, value)
	}
	if problems != nil {
		return nil, problems
	}
	return object.Bytes(), nil
}

func spell(s schema, words []Word) (value []byte, problem string) {
	set := s.kinds(0)
	if len(words) == 1 {
		return spellOne(s, set, words[0])
	}
	if set&kindArray == 0 {
		return nil, fmt.Sprintf("given %d times, but it is no array: %s", len(words), set)
	}
	items := s.items(0)
	elements := make([][]byte, 0, len(words))
	for _, w := range words {
		element, problem := spellOne(items, items.kinds(0), w)
		if problem != "" {
			return nil, problem
		}
		elements = append(elements, element)
	}
	return rawjson.Array(elements), ""
}

func spellOne(s schema, set kinds, w Word) (value []byte, problem string) {
	quoted := func() []byte { return rawjson.AppendString(nil, w.Text) }
	switch {
	case w.JSON:
		return []byte(w.Text), ""
	case set == kindString:
		return quoted(), ""
	case set == kindString|kindNull && w.Text != "null":
		return quoted(), ""
	case w.File && set&kindString != 0:
		return quoted(), ""
	}
	if text := strings.TrimSpace(w.Text); json.Valid([]byte(text)) {
		kind := valueKind(gjson.Parse(text))
		// 1.0 is an integer to JSON Schema, so where no string is possible the
		// validator judges every number.
		if kind&kindNumber != 0 && set&kindNumber != 0 && set&kindString == 0 {
			kind = set & kindNumber
		}
		if set&kind != 0 {
			return []byte(text), ""
		}
	}
	switch {
	case set&kindString != 0:
		return quoted(), ""
	case set&kindArray != 0:
		items := s.items(0)
		single := items.kinds(0) &^ kindArray // one word never stands for an array in an array
		if single == 0 {
			break
		}
		element, problem := spellOne(items, single, w)
		if problem != "" {
			return nil, problem
		}
		return rawjson.Array([][]byte{element}), ""
	}
	return nil, fmt.Sprintf("%s is no %s", abbreviate(w.Text), set)
}

// pointer is the JSON Pointer to a member of the root (RFC 6901 section 3).
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// abbreviate quotes a text for a message.
func abbreviate(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
