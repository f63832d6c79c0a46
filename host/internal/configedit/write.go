package configedit

import (
	"slices"

	"github.com/collet-dev/collet/host/internal/rewrite"
)

// maxRead is more than config takes for an mcp.toml, which then says so; it keeps
// a wrong path (a log, a device) from filling memory.
const maxRead = 2 << 20

// Read returns what is in an mcp.toml, nil when there is none yet.
func Read(file string) ([]byte, error) { return rewrite.Read(file, maxRead) }

// Write makes the addition. The file is replaced at once by one that holds all of
// it, behind a symbolic link too; a new file is for nobody but the user, for what is
// imported may hold secrets.
func (p *Plan) Write() error {
	if len(p.Text) == 0 {
		return nil
	}
	return rewrite.File(p.File, p.before, slices.Concat(p.before, p.Text))
}
