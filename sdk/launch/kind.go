package launch

import "github.com/collet-dev/collet/sdk/internal/wire"

// Kind is a kind of plugin, by the contract it serves.
type Kind int

// The kinds of plugins.
const (
	Adapter Kind = iota // collet.adapter.v1
	Hook                // collet.hook.v1
)

func (k Kind) cookie() string {
	if k == Hook {
		return wire.HookCookieValue
	}
	return wire.CookieValue
}

func (k Kind) pluginName() string {
	if k == Hook {
		return wire.HookName
	}
	return wire.PluginName
}
