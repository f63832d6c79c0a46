package launch

// CheckSocketDir makes the directory that the sockets of this host's adapters go
// to, as Start does, and returns its path. It is gone again on return, unless an
// adapter of this host uses it. The error says which places were tried and why
// none will do.
func CheckSocketDir() (string, error) {
	dir, err := socketDirs.acquire()
	if err != nil {
		return "", err
	}
	socketDirs.release()
	return dir, nil
}
