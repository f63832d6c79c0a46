package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/server"
)

// ToolPins are how the tools of one server stand to what was accepted of them.
type ToolPins struct {
	Server string
	Lock   string // the mcp.lock
	// New tools were never seen before, Rewritten ones are something else than what was
	// accepted, Missing ones are offered no more. All are names without the server's,
	// sorted.
	New, Rewritten, Missing []string
	// Error says why nothing is known of the tools: the server cannot be asked, or
	// mcp.lock cannot be used.
	Error   string
	Failure *Failure // set when the server cannot be asked

	// Was and Is are definitions of rewritten tools, by name: as they were accepted, as
	// far as that is known, and as they are.
	Was, Is map[string]json.RawMessage

	config  string
	digests map[string]string
}

// ReviewTools starts the named servers, waits until they have listed their tools, at
// most as long as wait says (default 30 s), and holds these against what was
// accepted. The error is a canceled ctx.
func (h *Host) ReviewTools(ctx context.Context, servers []string, wait time.Duration) ([]ToolPins, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(wait, defaultWait))
	defer cancel()
	fails := h.hub.Ready(limited, servers, false)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	var out []ToolPins
	for _, n := range servers {
		s := h.hub.Server(n)
		if s == nil {
			continue
		}
		t := ToolPins{Server: n, config: server.PluginUse(s.Settings(), "").Config}
		t.Lock = h.pins.File(t.config).Path
		if f := fails[n]; f != nil {
			t.Error, t.Failure = f.Error(), ofServer(n, f)
		} else {
			t.digests, _, _ = s.Approval()
			found, err := h.pins.Review(t.config, n, t.digests)
			if err != nil {
				t.Error = err.Error()
			}
			t.New, t.Rewritten, t.Missing = found.New, found.Changed, found.Missing
			h.texts(s, &t)
		}
		out = append(out, t)
	}
	return out, nil
}

// texts looks up what the rewritten tools were, and are.
func (h *Host) texts(s *server.Server, t *ToolPins) {
	t.Was, t.Is = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	tools, _ := s.Tools()
	for _, tool := range slices.Concat(tools, s.Withheld()) {
		if slices.Contains(t.Rewritten, tool.Name) && pins.Digest(tool.Definition) == t.digests[tool.Name] {
			t.Is[tool.Name] = tool.Definition
			if was := h.pins.Text(t.config, t.Server, tool.Name); was != nil {
				t.Was[tool.Name] = was
			}
		}
	}
}

// AcceptTools accepts the named tools as they were when they were reviewed.
func (h *Host) AcceptTools(ctx context.Context, t *ToolPins, names []string) error {
	accepted := make(map[string]string, len(names))
	for _, n := range names {
		if d, ok := t.digests[n]; ok {
			accepted[n] = d
		}
	}
	if err := h.pins.AcceptTools(ctx, t.config, t.Server, accepted); err != nil {
		return err
	}
	texts := map[string]json.RawMessage{}
	for _, n := range names {
		if text, ok := t.Is[n]; ok {
			texts[n] = text
		}
	}
	h.pins.KeepTexts(t.config, t.Server, texts)
	h.hub.Reconsider()
	return nil
}

// ForgetTools takes the named tools off the list of what was accepted: they are new
// when they are seen again.
func (h *Host) ForgetTools(ctx context.Context, t *ToolPins, names []string) error {
	return h.pins.ForgetTools(ctx, t.config, t.Server, names)
}

// AcceptPlugin accepts a plugin file as it was when Plugins looked at it.
func (h *Host) AcceptPlugin(ctx context.Context, p *Plugin) error {
	if p.SHA256 == "" {
		return fmt.Errorf("pin %s: its file was not looked at", p.Name)
	}
	return h.pins.AcceptPlugin(ctx, p.use, p.SHA256, pins.Plugin{Source: p.Source, Version: p.Version, Signer: p.Signer})
}
