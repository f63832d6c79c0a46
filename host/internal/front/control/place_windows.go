package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

func native() transport { return new(loopback) }

// makeDir makes a directory that is open to this user, the system and its
// administrators alone, wherever it is.
func makeDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return os.NewSyscallError("GetTokenInformation", err)
	}
	// Full access for those three, inherited by what is made in it, and nothing inherited from above
	// (Security Descriptor String Format).
	rights, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;" + user.User.Sid.String() + ")")
	if err != nil {
		return os.NewSyscallError("ConvertStringSecurityDescriptorToSecurityDescriptor", err)
	}
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	attributes := windows.SecurityAttributes{SecurityDescriptor: rights}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	if err := windows.CreateDirectory(path, &attributes); err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return nil
}

// owned reports what is wrong with the owner of a file or directory. What an elevated
// process makes may belong to the administrators as a group, which is then its token's
// default owner.
func owned(file *os.File) error {
	about, err := windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return os.NewSyscallError("GetSecurityInfo", err)
	}
	owner, _, err := about.Owner()
	if err != nil {
		return os.NewSyscallError("GetSecurityDescriptorOwner", err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return os.NewSyscallError("GetTokenInformation", err)
	}
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return os.NewSyscallError("CreateWellKnownSid", err)
	}
	if !owner.Equals(user.User.Sid) && !owner.Equals(admins) {
		return fmt.Errorf("it belongs to user %s", owner)
	}
	return nil
}

// writable leaves it to who makes a file there.
func writable(string) bool { return true }

func shortDir() string { return "" }

// processOf has no one to ask: the protocol does not say.
func processOf(net.Conn) int { return 0 }

// runs leaves it to the lock.
func runs(int) bool { return true }
