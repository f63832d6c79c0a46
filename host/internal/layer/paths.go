package layer

import "path/filepath"

// Paths are the files whose change can change what Find finds: the user's, the
// list of trusted files, and the project's with every place nearer than it.
func (p Places) Paths() []string {
	var paths []string
	if p.User != "" {
		paths = append(paths, p.User)
	}
	if p.Dir == "" {
		return paths
	}
	paths = append(paths, p.Trust.Path)
	found := nearest(p.Dir)
	for dir := Canonical(p.Dir); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, FileName)
		paths = append(paths, path)
		if path == found || dir == filepath.Dir(dir) {
			return paths
		}
	}
}
