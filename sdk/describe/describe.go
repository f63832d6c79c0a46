// Package describe holds what a plugin binary says about itself and the JSON
// form in which `collet-plugin-x describe` prints it. It never runs a plugin and
// depends on nothing, so that every side of the contract can share it.
package describe

import (
	"encoding/json"
	"fmt"
	"time"
)

// Description says what one plugin binary is. It holds the same as
// collet.adapter.v1.DescribeResponse. It follows from the binary alone: the same
// bytes on disk always give the same description, so a host may cache it by the
// binary's SHA-256.
type Description struct {
	Kind       string // "" for an adapter, "hook" for a hook
	Name       string // the adapter's own name, "github"; a server's name is the user's
	Version    string // semver without a leading v
	SDKVersion string // of the sdk it was built with; "devel" when built from a working copy
	Summary    string // one line
	Homepage   string // URL
	License    string // SPDX identifier
	// ConfigSchema is a JSON Schema 2020-12 document for the server's config
	// table. A property with "x-collet-secret": true is never shown.
	ConfigSchema json.RawMessage
	// Features are the optional parts of the contract that the binary speaks; of a
	// hook, the points at which it wants to be asked.
	Features []string
	// ForwardMethods are MCP methods every server of this adapter forwards. What
	// one server really offers comes with its snapshot.
	ForwardMethods []string
	// Environment names the variables the adapter would like to see.
	Environment []string
	// MCPVersions are the MCP revisions it speaks upstream, newest first.
	MCPVersions []string
	// DefaultTimeout bounds one attempt of a call, DefaultStartTimeout spawn to
	// handshake, where mcp.toml does not say. Zero means the host's own default.
	DefaultTimeout, DefaultStartTimeout time.Duration
}

// document is the JSON form: camelCase keys, durations as Go strings ("1m0s"),
// nothing empty.
type document struct {
	Kind                string          `json:"kind,omitempty"`
	Name                string          `json:"name,omitempty"`
	Version             string          `json:"version,omitempty"`
	SDKVersion          string          `json:"sdkVersion,omitempty"`
	Summary             string          `json:"summary,omitempty"`
	Homepage            string          `json:"homepage,omitempty"`
	License             string          `json:"license,omitempty"`
	ConfigSchema        json.RawMessage `json:"configSchema,omitempty"`
	Features            []string        `json:"features,omitempty"`
	ForwardMethods      []string        `json:"forwardMethods,omitempty"`
	Environment         []string        `json:"environment,omitempty"`
	MCPVersions         []string        `json:"mcpVersions,omitempty"`
	DefaultTimeout      string          `json:"defaultTimeout,omitempty"`
	DefaultStartTimeout string          `json:"defaultStartTimeout,omitempty"`
}

// MarshalJSON writes d with camelCase keys, durations as Go duration strings,
// and without what is empty or zero.
func (d Description) MarshalJSON() ([]byte, error) {
	return json.Marshal(document{
		Kind: d.Kind, Name: d.Name, Version: d.Version, SDKVersion: d.SDKVersion,
		Summary: d.Summary, Homepage: d.Homepage, License: d.License,
		ConfigSchema: d.ConfigSchema, Features: d.Features, ForwardMethods: d.ForwardMethods,
		Environment: d.Environment, MCPVersions: d.MCPVersions,
		DefaultTimeout:      formatDuration(d.DefaultTimeout),
		DefaultStartTimeout: formatDuration(d.DefaultStartTimeout),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote. Keys it does not know are ignored,
// so that an older host reads a newer plugin; a duration that is not a
// non-negative Go duration is an error naming its key.
func (d *Description) UnmarshalJSON(data []byte) error {
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	timeout, err := parseDuration("defaultTimeout", doc.DefaultTimeout)
	if err != nil {
		return err
	}
	start, err := parseDuration("defaultStartTimeout", doc.DefaultStartTimeout)
	if err != nil {
		return err
	}
	*d = Description{
		Kind: doc.Kind, Name: doc.Name, Version: doc.Version, SDKVersion: doc.SDKVersion,
		Summary: doc.Summary, Homepage: doc.Homepage, License: doc.License,
		ConfigSchema: doc.ConfigSchema, Features: doc.Features, ForwardMethods: doc.ForwardMethods,
		Environment: doc.Environment, MCPVersions: doc.MCPVersions,
		DefaultTimeout: timeout, DefaultStartTimeout: start,
	}
	return nil
}

func formatDuration(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return d.String()
}

func parseDuration(key, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s: %q is negative", key, text)
	}
	return d, nil
}
