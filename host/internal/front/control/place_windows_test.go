package control

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// The directory is open to its user, the system and administrators, and hands that on.
func TestMakeDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "run")
	for range 2 { // the second time it is there
		if err := private(dir); err != nil {
			t.Fatal(err)
		}
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	about, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	rights := about.String()
	entries := strings.Split(rights, "(")[1:]
	for _, entry := range entries {
		_, who, _ := strings.Cut(strings.TrimSuffix(entry, ")"), ";;;")
		if who != "SY" && who != "BA" && who != user.User.Sid.String() {
			t.Errorf("it is open to %s: %s", who, rights)
		}
		if !strings.Contains(entry, "OICI") {
			t.Errorf("what is made in it does not inherit %s: %s", entry, rights)
		}
	}
	if !strings.Contains(rights, user.User.Sid.String()) {
		t.Errorf("it is not open to its user: %s", rights)
	}
}
