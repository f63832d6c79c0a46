package store

import "testing"

// A session bus that is not there, or has no Secret Service on it, is no keyring.
func TestSystem(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if System() != nil {
		t.Error("a keyring without a bus")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus")
	s := &Store{Path: path(t), Keyring: System()}
	if s.Keyring == nil {
		t.Fatal("the bus was not looked for")
	}
	put(t, s, sample())
	if c, err := (&Store{Path: s.Path}).Read(); err != nil || len(c.Credentials) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
