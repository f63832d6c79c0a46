package snapshot

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
)

// What is known of a server besides what it offered has a file of its own beside its
// snapshot: a line like a snapshot's, and a JSON object.

// isBeside tells the names of those files from a snapshot's.
func isBeside(name string) bool {
	return strings.HasSuffix(name, suffix+trouble) || strings.HasSuffix(name, suffix+verdicts)
}

func replaceBeside(root *os.Root, name string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return replace(root, name, append(first(body, len(body)), body...))
}

// decodeBeside returns nil for a file that is damaged, or of another version.
func decodeBeside[T any](data []byte) *T {
	if len(data) < firstLine {
		return nil
	}
	body := data[firstLine:]
	length, err := strconv.ParseUint(string(data[firstLine-9:firstLine-1]), 16, 32)
	if err != nil || length != uint64(len(body)) || !bytes.Equal(data[:firstLine], first(body, len(body))) {
		return nil
	}
	v := new(T)
	if json.Unmarshal(body, v) != nil {
		return nil
	}
	return v
}
