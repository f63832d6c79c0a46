package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
	"github.com/collet-dev/collet/host/internal/trust"
)

// Layer is one configuration file, read: its name, why it counts ("named",
// "user" or "project") and its bytes.
type Layer = config.Source

// Discovery is the configuration that was found where nobody named one: Sources()
// are the layers for Options, Ignored() is the project's file when it does not
// count, and Trust or Refuse keeps what a person decides who has seen what is in it.
type Discovery = layer.Found

// Places are where Discover looks.
type Places struct {
	// UserFile is the user's configuration. Default: $XDG_CONFIG_HOME/collet/mcp.toml.
	UserFile string
	// Dir is where the search for a project's mcp.toml begins, which goes on in its
	// parents. Default: the working directory.
	Dir string
	// StateDir keeps the list of trusted project files. Default: $XDG_STATE_HOME/collet.
	StateDir string
}

// Discover finds the layers of a person who names no file: the user's file, and
// the project's if its path and content were accepted (collet trust). Nothing of
// a project's file that is not trusted has any effect. Each file is read once, so
// what was checked is what Open gets:
//
//	found := host.Discover(host.Places{})
//	h, err := host.Open(ctx, host.Options{Layers: found.Sources()})
func Discover(p Places) *Discovery { return layer.Find(p.layers()) }

func (p Places) layers() layer.Places {
	if p.Dir == "" {
		// A working directory that is gone has no project.
		p.Dir, _ = os.Getwd()
	}
	if abs, err := filepath.Abs(p.UserFile); p.UserFile != "" && err == nil {
		p.UserFile = abs
	}
	return layer.Places{
		User:  cmp.Or(p.UserFile, filepath.Join(xdg.ConfigHome, "collet", layer.FileName)),
		Dir:   p.Dir,
		Trust: trust.Store{Path: filepath.Join(cmp.Or(p.StateDir, stateDir()), "trust.json")},
	}
}

// StateDir is where a host keeps its files when Options do not say: $XDG_STATE_HOME/collet.
func StateDir() string { return stateDir() }

func stateDir() string { return filepath.Join(xdg.StateHome, "collet") }

// sources are the bytes of the files that the options name.
func (opt Options) sources() ([]Layer, error) {
	switch {
	case len(opt.Layers) > 0 && len(opt.ConfigFiles) > 0:
		return nil, errors.New("open a host: ConfigFiles and Layers exclude each other")
	case len(opt.Layers) > 0:
		return opt.Layers, nil
	}
	named := config.ReadNamed(opt.ConfigFiles)
	for _, l := range named {
		if l.Err != nil {
			return nil, fmt.Errorf("read configuration: %w", l.Err)
		}
	}
	return named, nil
}
