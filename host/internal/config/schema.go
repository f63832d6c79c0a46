package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/collet-dev/collet/host/internal/name"
)

// Schema is the JSON Schema of an mcp.toml, for editors. It is made of the table
// of keys that the loader reads by, so what it refuses the loader refuses. The
// loader refuses more: ranges of durations and sizes, names alike, and what
// takes two files to see.
//
// The dialect is draft-07, which every release of taplo, the language server for
// TOML, reads; 2020-12 only the newer ones do.
func Schema() []byte {
	var b bytes.Buffer
	text := fmt.Sprintf(`{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"title": "collet mcp.toml",
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"host": {"type":"object","description":"settings of the host; every key is optional","additionalProperties":false,"properties":%s},
			"servers": {
				"type": "object",
				"description": "the servers that tools come from, by name",
				"propertyNames": {"pattern": %s, "maxLength": %d, "not": {"pattern": "__"}},
				"additionalProperties": %s
			},
			"hooks": {
				"type": "object",
				"description": "plugins that stand between the host and the servers, in the order in which they are asked; have no effect in a project's file",
				"propertyNames": {"pattern": %s},
				"additionalProperties": {"type":"object","required":["plugin"],"additionalProperties":false,"properties":%s}
			}
		}
	}`, properties(hostKeys), quoteJSON(serverName), name.MaxServer, entrySchema(), quoteJSON(pluginPattern.String()), properties(hookKeys))
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		panic(err) // the text is made of constants, and tests read it
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// serverName is the pattern of a name, but for its length and "__"; name.CheckServer
// checks it here, and a test holds one against the other.
const serverName = `^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$`

func properties[T any](keys []key[T]) string {
	members := make([]string, len(keys))
	for i, k := range keys {
		unsaid := ""
		if k.unsaid != "" {
			unsaid = `,"default":` + k.unsaid
		}
		members[i] = fmt.Sprintf(`%s:{"description":%s,%s%s}`, quoteJSON(k.name), quoteJSON(k.about), k.shape, unsaid)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// entrySchema is what checkReach and checkSwitch check, as a schema.
func entrySchema() string {
	const named = `"properties":{"plugin":{"not":{"const":"` + genericPlugin + `"}}}`
	return fmt.Sprintf(`{
		"type": "object",
		"additionalProperties": false,
		"properties": %s,
		"anyOf": [
			{"required":["plugin"],%s},
			{"required":["command"]},
			{"required":["url"]},
			{"description":"in a project's file: changes your own entry of that name","propertyNames":{%s}}
		],
		"dependencies": {
			"disabled": {"not":{"required":["enabled"]}},
			"command": %s,
			"url": %s,
			"config": {"anyOf":[{"required":["plugin"],%s},{%s}]},
			"plugin": {"anyOf":[{"properties":{"plugin":{"const":"%s"}}},%s]}
		}
	}`, properties(serverKeys), named, enum(overrideKeys),
		without(append([]string{"url"}, remoteKeys...)), without(processKeys), named, `"not":{"anyOf":[{"required":["command"]},{"required":["url"]}]}`,
		genericPlugin, without(append(append([]string{"command", "url"}, processKeys...), remoteKeys...)))
}

// without is the schema of an object that has none of keys.
func without(keys []string) string {
	required := make([]string, len(keys))
	for i, k := range keys {
		required[i] = `{"required":[` + strconv.Quote(k) + `]}`
	}
	return `{"not":{"anyOf":[` + strings.Join(required, ",") + `]}}`
}
