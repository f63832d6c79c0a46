package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/launch"
)

// Fingerprint stands for everything that decides what a host of these options is:
// the bytes of its files and where they lie, what the values in them resolve to, the
// variables that its servers get, and where it keeps its own files. Hosts with one
// fingerprint can stand for each other. It is a digest and tells nothing of that. No
// command is run for it: where values are commands, the whole environment counts, as
// it does where a server inherits all of it.
func (opt Options) Fingerprint() (string, error) {
	layers, err := opt.sources()
	if err != nil {
		return "", err
	}
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	opt.StateDir = cmp.Or(opt.StateDir, stateDir())
	opt.CacheDir = cmp.Or(opt.CacheDir, filepath.Join(xdg.CacheHome, "collet"))
	sum := sha256.New()
	enc := json.NewEncoder(sum)
	say := func(v any) { _ = enc.Encode(v) } // a hash takes everything
	say([]string{opt.StateDir, opt.CacheDir, xdg.DataHome})
	say(opt.PluginDirs)
	for _, l := range layers {
		file, err := filepath.Abs(l.File)
		if err != nil {
			return "", err
		}
		say([]string{file, string(l.Layer)})
		say(l.Data)
	}
	c := config.Merge(layers)
	values := newResolver(opt.Environ)
	var finder pluginFinder
	dirs, _ := c.Host.ResolvePluginDirs(values)
	finder.look(append(slices.Clone(opt.PluginDirs), dirs...))
	e := server.Environment{Environ: opt.Environ, Resolver: values, Plugins: &finder}
	whole := false
	for _, set := range c.Servers {
		resolved, all := e.Reached(set)
		say(resolved)
		whole = whole || all
	}
	env := launch.ShortEnv(opt.Environ)
	if whole {
		env = slices.Clone(opt.Environ)
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		return passes(k)
	})
	slices.Sort(env)
	say(env)
	return hex.EncodeToString(sum.Sum(nil)), nil
}
