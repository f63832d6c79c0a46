//go:build unix

package plugins

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Writers says who besides this user and root may change the plugin file at path,
// absolute, or put another one in its place, and what to do about it: somebody may write
// to the file, to the directory it lies in, to where a link leads, or to a directory
// above that. why is "" when nobody may. What is not there, or cannot be looked at, is not
// told of.
func Writers(path string) (why, advice string) {
	at := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		at = append(at, real, filepath.Dir(real))
	}
	for _, place := range at {
		if why, advice := writers(place, false); why != "" {
			return why, advice
		}
	}
	for _, place := range at {
		for above := filepath.Dir(place); ; above = filepath.Dir(above) {
			if why, advice := writers(above, true); why != "" {
				return why, advice
			}
			if above == filepath.Dir(above) {
				break
			}
		}
	}
	return "", ""
}

// writers looks at one file or directory. One that is above, in the path to others, is
// no danger while it is sticky: nobody can rename there what belongs to somebody else.
func writers(place string, above bool) (why, advice string) {
	info, err := os.Stat(place)
	if err != nil {
		return "", ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || above && info.Mode()&fs.ModeSticky != 0 {
		return "", ""
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o002 != 0:
		return fmt.Sprintf("everybody may write to %s (mode %04o), and so decide what your plugins are", place, mode), "chmod go-w " + place
	case mode&0o020 != 0 && !privateGroup(stat.Gid):
		return fmt.Sprintf("the group %s may write to %s (mode %04o), and so decide what your plugins are", groupName(stat.Gid), place, mode), "chmod g-w " + place
	case !above && stat.Uid != 0 && int(stat.Uid) != os.Getuid():
		return fmt.Sprintf("%s belongs to %s, who may change what your plugins are", place, userName(stat.Uid)), "make it your own with chown, or use another one"
	}
	return "", ""
}

// privateGroup reports whether a group is the one that many systems give each user, and
// nobody else: the user's first one, of the user's name.
func privateGroup(id uint32) bool {
	me, err := user.Current()
	return err == nil && me.Gid == strconv.Itoa(int(id)) && me.Username == groupName(id)
}

func groupName(id uint32) string {
	number := strconv.Itoa(int(id))
	if g, err := user.LookupGroupId(number); err == nil {
		return g.Name
	}
	return number
}

func userName(id uint32) string {
	number := strconv.Itoa(int(id))
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "the user " + number
}
