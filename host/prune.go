package host

import (
	"slices"

	"github.com/collet-dev/collet/host/internal/pins"
)

// NamedVersions says which of the versions of plugins, given by their SHA-256 in
// hexadecimal, an mcp.toml or mcp.lock names: for each of those a clause that says where.
// It looks into the files of configs, absolute paths of mcp.toml files, of the projects
// that a person has trusted or refused, and of all for which a host of this user has
// executed an installed plugin. The error is that one of them cannot be read, and may
// name any version.
func NamedVersions(configs, digests []string) (map[string]string, error) {
	users, err := pins.Users(stateDir())
	if err != nil {
		return nil, err
	}
	projects, err := Places{}.layers().Trust.List()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(configs, users)
	for _, p := range projects {
		all = append(all, p.Path)
	}
	slices.Sort(all)
	return pins.Naming(slices.Compact(all), stateDir(), digests)
}
