package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/collet-dev/collet/host/internal/catalog"
)

// A file is a line with the sum of what follows it and the length of the header,
// the header as JSON, and the JSON that strangers wrote, one text behind the other
// as they wrote it: as a part of the header it would be reformatted.
const (
	magic     = "collet-snapshot 1 "
	firstLine = len(magic) + 2*sha256.Size + 1 + 8 + 1 // magic, sum, space, length in hex, newline
)

// header is what a file says of itself. Lengths are of the texts behind it, in the
// order of the fields, in bytes; 0 is a text that there is not.
type header struct {
	Server  string   `json:"server"`
	Entry   string   `json:"entry"`
	Plugin  string   `json:"plugin"`
	Info    int      `json:"info"`
	Methods []string `json:"methods"`
	Tools   []offer  `json:"tools"`
}

type offer struct {
	Name        string `json:"name"`
	Definition  int    `json:"definition"`
	Output      int    `json:"output,omitempty"`
	ReadOnly    *bool  `json:"readOnly,omitempty"`
	Idempotent  *bool  `json:"idempotent,omitempty"`
	AsksConsent bool   `json:"asksConsent,omitempty"`
}

func encode(k Key, snap *Snapshot) ([]byte, error) {
	head := header{Server: k.Server, Entry: k.Entry, Plugin: k.Plugin, Info: len(snap.Info), Methods: snap.Methods}
	size := len(snap.Info)
	for _, t := range snap.Tools {
		head.Tools = append(head.Tools, offer{t.Name, len(t.Definition), len(t.OutputSchema), t.ReadOnly, t.Idempotent, t.AsksConsent})
		size += len(t.Definition) + len(t.OutputSchema)
	}
	raw, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	data := make([]byte, firstLine, firstLine+len(raw)+size)
	data = append(append(data, raw...), snap.Info...)
	for _, t := range snap.Tools {
		data = append(append(data, t.Definition...), t.OutputSchema...)
	}
	copy(data, first(data[firstLine:], len(raw)))
	return data, nil
}

// first is the first line of a file with that body.
func first(body []byte, header int) []byte {
	return fmt.Appendf(nil, "%s%x %08x\n", magic, sha256.Sum256(body), header)
}

// sumOf is the sum in a whole file's first line.
func sumOf(data []byte) string { return string(data[len(magic) : len(magic)+2*sha256.Size]) }

var errDamaged = errors.New("it is damaged, or of another version")

func decode(data []byte) (Key, *Snapshot, error) {
	if len(data) < firstLine {
		return Key{}, nil, errDamaged
	}
	body := data[firstLine:]
	length, err := strconv.ParseUint(string(data[firstLine-9:firstLine-1]), 16, 32)
	if err != nil || length > uint64(len(body)) || !bytes.Equal(data[:firstLine], first(body, int(length))) {
		return Key{}, nil, errDamaged
	}
	return decodeBody(body[:length], body[length:])
}

// decodeBody takes the header and the texts behind it apart. Their sum is right,
// which keeps nobody from writing nonsense.
func decodeBody(raw, texts []byte) (Key, *Snapshot, error) {
	var head header
	if err := json.Unmarshal(raw, &head); err != nil {
		return Key{}, nil, fmt.Errorf("its header: %w", err)
	}
	ok := true
	next := func(length int) json.RawMessage {
		if ok = ok && 0 <= length && length <= len(texts); !ok || length == 0 {
			return nil
		}
		text := texts[:length:length]
		texts = texts[length:]
		return json.RawMessage(text)
	}
	snap := &Snapshot{Info: next(head.Info), Methods: head.Methods}
	seen := make(map[string]bool, len(head.Tools))
	for _, t := range head.Tools {
		ok = ok && !seen[t.Name]
		seen[t.Name] = true
		snap.Tools = append(snap.Tools, catalog.Offer{
			Name: t.Name, Definition: next(t.Definition), OutputSchema: next(t.Output),
			ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, AsksConsent: t.AsksConsent,
		})
	}
	if !ok || len(texts) > 0 {
		return Key{}, nil, errors.New("its header contradicts what follows")
	}
	return Key{Server: head.Server, Entry: head.Entry, Plugin: head.Plugin}, snap, nil
}
