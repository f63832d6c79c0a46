package credential

import (
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
)

// BenchmarkToken is what every request to a server costs that wants one.
func BenchmarkToken(b *testing.B) {
	as := fakeauth.Start(b)
	k := Open(Options{Path: filepath.Join(b.TempDir(), "c.json"), Keyring: KeyringOff})
	b.Cleanup(k.Close)
	s := settings(as)
	if _, err := k.Login(b.Context(), s, Need{}, &visitor{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Token(b.Context(), s, Need{}); err != nil {
			b.Fatal(err)
		}
	}
}
