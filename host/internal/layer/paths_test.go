package layer

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/collet-dev/collet/host/internal/trust"
)

func TestPaths(t *testing.T) {
	x := newTree(t)
	store := trust.Store{Path: filepath.Join(x.root, "state", "trust.json")}
	p := Places{User: x.user, Dir: x.deep, Trust: store}
	all := p.Paths()
	for _, want := range []string{
		x.user, store.Path,
		filepath.Join(x.deep, FileName), x.project, filepath.Join(x.root, FileName), filepath.Join(filepath.VolumeName(x.root)+string(filepath.Separator), FileName),
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not in %v", want, all)
		}
	}
	write(t, x.project, "")
	if got := p.Paths(); got[len(got)-1] != x.project {
		t.Errorf("beyond the project's file there is nothing to see, got %v", got)
	}
	if got := (Places{User: x.user, Trust: store}).Paths(); !slices.Equal(got, []string{x.user}) {
		t.Errorf("without a project there is %v", got)
	}
}
