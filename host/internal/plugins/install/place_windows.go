package install

import "os"

func fileName(name string) string { return prefix + name + ".exe" }

// place makes what can be renamed over what is looked for: another name of the file,
// since a link needs a privilege there.
func place(path, temp string) error { return os.Link(path, temp) }
