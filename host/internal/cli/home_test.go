//go:build unix

package cli

import (
	"errors"
	"os/user"
	"strings"
	"testing"
)

func TestFindHome(t *testing.T) {
	known := func() (*user.User, error) { return &user.User{HomeDir: "/home/x"}, nil }
	unknown := func() (*user.User, error) { return nil, errors.New("no such user") }
	rootless := func() (*user.User, error) { return &user.User{HomeDir: "/"}, nil }
	xdgAll := map[string]string{"XDG_CONFIG_HOME": "/a", "XDG_STATE_HOME": "/b", "XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d"}
	for name, test := range map[string]struct {
		env     map[string]string
		current func() (*user.User, error)
		want    string
		err     error
	}{
		"HOME is set":             {map[string]string{"HOME": "/h"}, known, "", nil},
		"the database knows":      {nil, known, "/home/x", nil},
		"nobody knows":            {nil, unknown, "", errHomeless},
		"the root is no home":     {nil, rootless, "", errHomeless},
		"everything else is said": {xdgAll, unknown, "", nil},
		"not everything is said":  {map[string]string{"XDG_STATE_HOME": "/b"}, unknown, "", errHomeless},
	} {
		got, err := findHome(func(k string) string { return test.env[k] }, test.current)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestHomelessOpensNothing(t *testing.T) {
	c := command{host: answer(`{}`), homeless: errHomeless}
	if code := c.run(t, "tools", "list", "--config", "x"); code != 3 || !strings.Contains(c.err.String(), "set HOME") || c.options.ConfigFiles != nil {
		t.Errorf("exit code %d, stderr %s", code, c.err.String())
	}
	c = command{host: answer(`{}`), homeless: errHomeless}
	if code := c.run(t, "version"); code != 0 {
		t.Errorf("version: exit code %d", code)
	}
}
