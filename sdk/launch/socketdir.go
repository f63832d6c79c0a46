package launch

import (
	"errors"
	"fmt"
	"sync"
)

// maxSocketDir bounds the directory we give go-plugin: sun_path holds 103 bytes
// on the system with the least (macOS), and go-plugin appends up to 38 bytes,
// "/plugin-dir1234567890/plugin1234567890".
const maxSocketDir = 65

// socketDirs is this host's directory for the sockets of its adapters. It exists
// while a process of this host does.
var socketDirs socketDir

// socketDir is one private directory and the number of its users.
type socketDir struct {
	mu   sync.Mutex
	dir  *lockedDir
	used int
}

// acquire returns the directory, which is made at the first use.
func (s *socketDir) acquire() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == 0 {
		dir, err := makeSocketDir(socketBases())
		if err != nil {
			return "", err
		}
		s.dir = dir
	}
	s.used++
	return s.dir.path, nil
}

// release gives one acquire back; the last one removes the directory.
func (s *socketDir) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used--; s.used == 0 {
		s.dir.remove()
		s.dir = nil
	}
}

// makeSocketDir makes a directory in the first base that will have it.
func makeSocketDir(bases []string) (*lockedDir, error) {
	var problems []error
	for _, base := range bases {
		dir, err := lockDirIn(base)
		if err == nil {
			return dir, nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("no directory for the sockets of adapters: %w", errors.Join(problems...))
}

// checkSocketDir refuses a path that leaves no room for go-plugin's names.
func checkSocketDir(path string) error {
	if len(path) > maxSocketDir {
		return fmt.Errorf("%s is %d bytes long and at most %d fit into the address of a unix socket", path, len(path), maxSocketDir)
	}
	return nil
}
