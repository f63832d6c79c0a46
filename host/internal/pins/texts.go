package pins

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/rewrite"
)

// Definitions that were accepted are kept as texts, too, in the state directory: a
// digest says that something changed, and not what. They are there to be shown, and
// each counts only as far as mcp.lock has its digest.

func (k *Keeper) textsPath(config, server string) string {
	return k.File(config).Fallback + "." + Digest([]byte(server))[:16] + ".texts"
}

// KeepTexts keeps definitions, by name, beside those that are kept already. What
// cannot be kept is only not shown.
func (k *Keeper) KeepTexts(config, server string, texts map[string]json.RawMessage) {
	path := k.textsPath(config, server)
	before, all := readTexts(path)
	for name, text := range texts {
		if json.Valid(text) {
			all[name] = text
		}
	}
	after, err := json.Marshal(all)
	if err != nil || len(after) > maxFile || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = rewrite.File(path, before, after)
}

// Text is a definition as it was accepted; nil when it is not known.
func (k *Keeper) Text(config, server, tool string) json.RawMessage {
	_, all := readTexts(k.textsPath(config, server))
	text := all[tool]
	locks, err := k.locks(k.File(config))
	if err != nil || text == nil {
		return nil
	}
	if _, same := locks.Tool(server, tool, Digest(text)); !same {
		return nil
	}
	return text
}

func readTexts(path string) (data []byte, all map[string]json.RawMessage) {
	data, err := readFile(path)
	if err != nil || json.Unmarshal(data, &all) != nil || all == nil {
		all = map[string]json.RawMessage{}
	}
	return data, all
}
