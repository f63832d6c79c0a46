package store

import (
	"os"
	"path/filepath"
	"strconv"
)

// reachable says whether there is a session bus, on which a Secret Service could
// be. Without one go-keyring's D-Bus client would start one of its own.
func reachable() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}
