package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const canary = "CANARY-3f9a"

func sample() Credential {
	return Credential{
		Endpoint: "https://mcp.example/mcp", Resource: "https://mcp.example/mcp", Issuer: "https://as.example", TokenEndpoint: "https://as.example/token",
		Client: Client{ID: "c", Secret: canary, Method: "client_secret_basic", Source: Dynamic}, Access: canary, Refresh: canary,
		Scopes: []string{"a"}, Obtained: time.Unix(1e9, 5).UTC(), Expiry: time.Unix(2e9, 0).UTC(),
	}
}

func put(t *testing.T, s *Store, e Credential) {
	t.Helper()
	if err := s.Change(t.Context(), func(c *Contents) error { c.Put(e); return nil }); err != nil {
		t.Fatal(err)
	}
}

func path(t *testing.T) string { return filepath.Join(t.TempDir(), "config", "credentials.json") }

func TestRoundTrip(t *testing.T) {
	s := &Store{Path: path(t)}
	if c, err := s.Read(); err != nil || len(c.Credentials) != 0 {
		t.Errorf("no file: %+v, %v", c, err)
	}
	r := Registration{Issuer: "https://as.example", RedirectURI: "http://127.0.0.1/cb", Client: sample().Client}
	err := s.Change(t.Context(), func(c *Contents) error {
		c.Put(sample())
		c.Register(r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Contents{Credentials: []Credential{sample()}, Registrations: []Registration{r}}
	for _, reader := range []*Store{s, {Path: s.Path}} {
		if c, err := reader.Read(); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	raw, err := os.ReadFile(s.Path)
	if err != nil || !strings.HasPrefix(string(raw), "{\n  \"version\": 1,") {
		t.Errorf("%.40s, %v", raw, err)
	}
}

// A reader sees what another process has written, and nobody's change is lost.
func TestSharing(t *testing.T) {
	p := path(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s := &Store{Path: p} // as another process has it
			for j := range 5 {
				e := sample()
				e.Endpoint += strings.Repeat("x", i*5+j)
				put(t, s, e)
			}
		})
	}
	all.Wait()
	s := &Store{Path: p}
	if c, err := s.Read(); err != nil || len(c.Credentials) != 40 {
		t.Errorf("%d credentials, %v", len(c.Credentials), err)
	}
	e := sample()
	e.Access = "newer"
	put(t, &Store{Path: p}, e)
	if c, _ := s.Read(); c.Credential(e.Endpoint, "").Access != "newer" {
		t.Error("a change of another process is not seen")
	}
	before, _ := s.Read()
	put(t, s, sample())
	if before.Credential(e.Endpoint, "").Access != "newer" {
		t.Error("what was read changed under its reader")
	}
}

// What a process left behind that was killed while it wrote goes with the next write.
func TestOrphans(t *testing.T) {
	s := &Store{Path: path(t)}
	put(t, s, sample())
	orphan := filepath.Join(filepath.Dir(s.Path), ".credentials.json.123")
	if err := os.WriteFile(orphan, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, s, sample())
	if _, err := os.Stat(orphan); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestLookup(t *testing.T) {
	var c Contents
	old, young := sample(), sample()
	young.Issuer, young.Obtained = "https://other.example", old.Obtained.Add(time.Hour)
	c.Put(young)
	c.Put(old)
	c.Put(old)
	if len(c.Credentials) != 2 {
		t.Errorf("%d credentials", len(c.Credentials))
	}
	if e := c.Credential(old.Endpoint, ""); e == nil || e.Issuer != young.Issuer {
		t.Errorf("the latest login: %+v", e)
	}
	if e := c.Credential(old.Endpoint, old.Issuer); e == nil || e.Issuer != old.Issuer {
		t.Errorf("the issuer's: %+v", e)
	}
	if c.Credential(old.Endpoint+"/", "") != nil || c.Credential(old.Endpoint, "x") != nil {
		t.Error("another server's")
	}
	second := old
	second.Endpoint += "2"
	c.Put(second)
	c.Register(Registration{Issuer: old.Issuer})
	c.Register(Registration{Issuer: old.Issuer, Refused: true})
	c.Remove(old.Endpoint, old.Issuer)
	if c.Credential(old.Endpoint, old.Issuer) != nil || c.Registration(old.Issuer) == nil || !c.Registration(old.Issuer).Refused {
		t.Errorf("after one of two: %+v", c)
	}
	c.Remove(second.Endpoint, old.Issuer)
	if c.Registration(old.Issuer) != nil || len(c.Credentials) != 1 {
		t.Errorf("after both: %+v", c)
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the profile directory's access list protects the file")
	}
	old := umask(0)
	defer umask(old)
	s := &Store{Path: path(t)}
	put(t, s, sample())
	for p, want := range map[string]fs.FileMode{s.Path: 0o600, filepath.Dir(s.Path): 0o700, s.Path + ".lock": 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", p, info.Mode(), err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o660, 0o644} {
		if err := os.Chmod(s.Path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read()
		if err == nil || !strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), s.Path) {
			t.Errorf("%v: %v", mode, err)
		}
		if err := s.Change(t.Context(), func(*Contents) error { return nil }); err == nil {
			t.Errorf("%v: written", mode)
		}
	}
	os.Chmod(s.Path, 0o600)
	moved := s.Path + ".moved"
	if err := errors.Join(os.Rename(s.Path, moved), os.Symlink(moved, s.Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
}

// A file that cannot be read is never written over, and never quoted.
func TestDamage(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "no JSON",
		"{}":                             "no version",
		`{"version":2,"credentials":[]}`: "version 2",
		`{"version":1,"credentials":["` + canary + `"]}`:               "wrong type",
		`{"version":1,"credentials":[{"access_token":"` + canary + `"`: "no JSON",
		`{"version":1,"credentials":[],"` + canary + `":1}`:            "another form",
		`{"version":1,"sealed":"AAAA"}`:                                "keyring",
	} {
		s := &Store{Path: path(t)}
		os.MkdirAll(filepath.Dir(s.Path), 0o700)
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err := s.Change(t.Context(), func(*Contents) error { return nil }); err == nil {
			t.Errorf("%s: written over", text)
		}
		if raw, _ := os.ReadFile(s.Path); string(raw) != text {
			t.Errorf("%s became %s", text, raw)
		}
	}
	s := &Store{Path: "credentials.json"}
	if _, err := s.Read(); err == nil {
		t.Error("a relative path")
	}
	no := errors.New("no")
	s = &Store{Path: path(t)}
	if err := s.Change(t.Context(), func(c *Contents) error { c.Put(sample()); return no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if c, _ := s.Read(); len(c.Credentials) != 0 {
		t.Error("what failed was written")
	}
}

// ring is a keyring.
type ring struct {
	secrets map[string]string
	err     error
	forgets bool
	asked   int
}

func (r *ring) Get(name string) (string, error) {
	r.asked++
	if r.err != nil {
		return "", r.err
	}
	s, ok := r.secrets[name]
	if !ok {
		return "", ErrNoSecret
	}
	return s, nil
}

func (r *ring) Set(name, secret string) error {
	if r.err == nil && !r.forgets {
		r.secrets[name] = secret
	}
	return r.err
}

func TestSealed(t *testing.T) {
	r := &ring{secrets: map[string]string{}}
	s := &Store{Path: path(t), Keyring: r}
	put(t, s, sample())
	raw, err := os.ReadFile(s.Path)
	if err != nil || strings.Contains(string(raw), canary) || strings.Contains(string(raw), "mcp.example") {
		t.Errorf("%s, %v", raw, err)
	}
	if len(r.secrets) != 1 || !strings.Contains(s.Location(), "keyring") {
		t.Errorf("%d secrets, location %s", len(r.secrets), s.Location())
	}
	for range 3 {
		if c, err := (&Store{Path: s.Path, Keyring: r}).Read(); err != nil || !reflect.DeepEqual(c.Credentials, []Credential{sample()}) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	asked := r.asked
	put(t, s, sample())
	if r.asked != asked {
		t.Error("the keyring was asked again for what it said")
	}
	for name, other := range map[string]Keyring{
		"none": nil, "locked": &ring{err: errors.New("locked")}, "empty": &ring{secrets: map[string]string{}},
		"another key": &ring{secrets: map[string]string{s.Path: strings.Repeat("A", 43) + "="}}, "nonsense": &ring{secrets: map[string]string{s.Path: "x"}},
	} {
		o := &Store{Path: s.Path, Keyring: other}
		if _, err := o.Read(); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("%s: %v", name, err)
		}
		if err := o.Change(t.Context(), func(*Contents) error { return nil }); err == nil {
			t.Errorf("%s: written over", name)
		}
	}
	if c, err := (&Store{Path: s.Path, Keyring: r}).Read(); err != nil || len(c.Credentials) != 1 {
		t.Errorf("it was lost: %+v, %v", c, err)
	}
}

// A keyring of no use leaves the file to protect itself, and is asked once.
func TestNoKeyring(t *testing.T) {
	for name, r := range map[string]*ring{"locked": {err: errors.New("locked")}, "forgetful": {secrets: map[string]string{}, forgets: true}} {
		s := &Store{Path: path(t), Keyring: r}
		put(t, s, sample())
		asked := r.asked
		put(t, s, sample())
		if c, err := (&Store{Path: s.Path}).Read(); err != nil || len(c.Credentials) != 1 || r.asked != asked || s.Location() != s.Path {
			t.Errorf("%s: %+v, %v, asked %d times more", name, c, err, r.asked-asked)
		}
		// It comes back in another process, and the file is sealed from then on.
		works := &ring{secrets: map[string]string{}}
		put(t, &Store{Path: s.Path, Keyring: works}, sample())
		if raw, _ := os.ReadFile(s.Path); strings.Contains(string(raw), canary) {
			t.Errorf("%s: not sealed", name)
		}
	}
}

// No file is taken for a store that was not written as one, and none is quoted.
func FuzzParse(f *testing.F) {
	whole, err := encode(file{Version: version, Contents: &Contents{Credentials: []Credential{sample()}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"version":1,"sealed":"AAAA"}`))
	f.Add([]byte(`{"version":1,"credentials":[{"endpoint":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data)
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("a long error: %v", err)
			}
			return
		}
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parse(again); err != nil || got.Version != version || len(back.Credentials) != len(got.Credentials) {
			t.Errorf("%q: %v", data, err)
		}
	})
}
