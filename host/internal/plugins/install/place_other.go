//go:build !windows

package install

import "os"

func fileName(name string) string { return prefix + name }

// place makes what can be renamed over what is looked for: a link.
func place(path, temp string) error { return os.Symlink(path, temp) }
