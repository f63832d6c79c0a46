package server

import (
	"context"

	"github.com/collet-dev/collet/host/internal/config"
)

// Environment is what decides, besides its entry, what a server is started with.
type Environment struct {
	Environ  []string
	Resolver config.Resolver
	Plugins  Finder
}

// Reached is a digest of what decides which server an entry reaches, and as whom. all
// says that the whole environment is a part of that, and not of the digest: the server
// inherits it, a value is a command, or only a plugin's file says which variables it
// reads. It starts nothing and runs no command.
func (e Environment) Reached(set *config.Server) (sum string, all bool) {
	s := &Server{name: set.Name, env: Surroundings{Environ: e.Environ, Resolver: e.Resolver, Plugins: e.Plugins}}
	all = set.Command != "" && set.InheritEnv.All || PluginName(set) != genericPlugin
	for _, ref := range set.References(e.Resolver) {
		all = all || ref.Command
	}
	path, _ := s.pluginFile(context.Background(), set) // one that is missing may come
	return digest([]any{s.reached(set), path}), all
}
