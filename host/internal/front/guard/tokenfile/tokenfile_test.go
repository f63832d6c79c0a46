package tokenfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/front/guard/tokenfile"
)

const canary = "canary-7f3a9c51e0b84d6297d1f5a3c8e2b604"

func hash(token string) string {
	h := sha256.Sum256([]byte(token))
	return hex.EncodeToString(h[:])
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	write(t, path, text)
	return path
}

func TestShared(t *testing.T) {
	f, err := tokenfile.Shared(file(t, "\ufeff# for the laptops\n\n  first-token\t\r\n"+canary+"\n#"+canary+"x"))
	if err != nil {
		t.Fatal(err)
	}
	for token, known := range map[string]bool{
		"first-token": true, canary: true,
		"first-toke": false, "first-token ": false, "First-token": false, "": false, "#" + canary + "x": false, canary + "x": false, hash(canary): false,
	} {
		p, err := f.Authenticate(t.Context(), token)
		if known != (err == nil) || !known && !errors.Is(err, guard.ErrUnknown) {
			t.Errorf("%q: %v", token, err)
		}
		if known && (p.ID != "shared" || !p.Allows("any", "tool") || !p.Expires.IsZero()) {
			t.Errorf("%q is %+v", token, p)
		}
	}
}

func TestSharedFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "has no token",
		"# nothing\n\n":                   "has no token",
		"ok\n" + canary + " two\n":        "line 2: ",
		"ok\n\n" + canary + "é\n":         "line 3: ",
		strings.Repeat(canary+"\n", 4097): "line 4097: ",
		strings.Repeat("#", 1<<20+1):      "larger than",
	} {
		_, err := tokenfile.Shared(file(t, text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%.30q: %v; want %q without the token", text, err, want)
		}
	}
}

func TestPlace(t *testing.T) {
	if _, err := tokenfile.Shared(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := tokenfile.Shared(t.TempDir()); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a directory: %v", err)
	}
}

func TestOthersMustNotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false, 0o644: false, 0o601: false} {
		path := file(t, canary)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := tokenfile.Shared(path)
		if ok != (err == nil) || !ok && (!strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), path)) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	// And not later either: the change of the mode alone counts.
	path := file(t, canary)
	old(t, path)
	f, err := tokenfile.Shared(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(t.Context(), canary); err == nil || errors.Is(err, guard.ErrUnknown) {
		t.Errorf("a file that became readable by others: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(t.Context(), canary); err != nil {
		t.Errorf("after it was repaired: %v", err)
	}
}

// old makes the file's last change long ago, so that its time is believed.
func old(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestChanges(t *testing.T) {
	path := file(t, "first-token")
	old(t, path)
	f, err := tokenfile.Shared(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when, token string, want error) {
		t.Helper()
		_, err := f.Authenticate(t.Context(), token)
		if !errors.Is(err, want) {
			t.Errorf("%s, %s: %v; want %v", when, token, err, want)
		}
	}
	check("at first", "first-token", nil)
	write(t, path, "other-token") // of the same length
	check("rewritten", "first-token", guard.ErrUnknown)
	check("rewritten", "other-token", nil)
	write(t, path, "third-token") // within the steps of a coarse clock
	check("rewritten at once", "other-token", guard.ErrUnknown)
	check("rewritten at once", "third-token", nil)

	at := time.Now().Add(-time.Hour)
	stamp := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	stamp(path)
	check("unchanged", "third-token", nil)
	next := path + ".new"
	write(t, next, "moved-token")
	stamp(next) // the same time and size: it is another file all the same
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	check("replaced", "third-token", guard.ErrUnknown)
	check("replaced", "moved-token", nil)

	now := time.Now()
	for _, token := range []string{"first-fresh", "other-fresh"} { // both within one step of a coarse clock
		write(t, path, token)
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
		check("a moment ago", token, nil)
	}

	write(t, path, "") // half of a rewrite
	if _, err := f.Authenticate(t.Context(), "moved-token"); err == nil || errors.Is(err, guard.ErrUnknown) {
		t.Errorf("an empty file: %v; want that nobody can say", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("removed", "moved-token", os.ErrNotExist)
	write(t, path, "again-token")
	check("back", "again-token", nil)
}

func TestScoped(t *testing.T) {
	now := time.Now()
	f, err := tokenfile.Scoped(file(t, fmt.Sprintf(`
# who may do what
[tokens.ci]
sha256 = %q
servers = ["github", "docs-*"]
tools = ["get_*", "docs-a/search"]
exposure = "deferred"

[tokens."ops@example.com"]
sha256 = [%q, %q]
servers = ["*"]

[tokens.gone]
sha256 = %q
servers = ["*"]
expires = %s

[tokens.soon]
sha256 = %q
servers = ["*"]
expires = %s
`, hash("ci-token"), hash("ops-1"), strings.ToUpper(hash("ops-2")), hash("gone-token"), now.Add(-time.Second).Format(time.RFC3339),
		hash("soon-token"), now.Add(time.Hour).Format(time.RFC3339))))
	if err != nil {
		t.Fatal(err)
	}
	ci, err := f.Authenticate(t.Context(), "ci-token")
	if err != nil {
		t.Fatal(err)
	}
	if ci.ID != "token:ci" || !ci.Allows("github", "get_x") || ci.Allows("github", "delete_x") || !ci.Allows("docs-a", "search") ||
		ci.Allows("docs-b", "search") || ci.Allows("other", "get_x") || ci.Exposure("github", "get_x", exposure.Direct) != exposure.Deferred {
		t.Errorf("ci is %+v", ci)
	}
	for _, token := range []string{"ops-1", "ops-2"} {
		if p, err := f.Authenticate(t.Context(), token); err != nil || p.ID != "token:ops@example.com" || !p.Allows("any", "tool") || p.Exposure("a", "b", exposure.Direct) != exposure.Direct {
			t.Errorf("%s: %+v, %v", token, p, err)
		}
	}
	_, err = f.Authenticate(t.Context(), "gone-token")
	if refusal, ok := errors.AsType[*guard.Refusal](err); !ok || refusal.Reason != guard.Expired {
		t.Errorf("an expired token: %v", err)
	}
	if p, err := f.Authenticate(t.Context(), "soon-token"); err != nil || p.Expires.Sub(now) > time.Hour || p.Expires.Sub(now) < 59*time.Minute {
		t.Errorf("a token that expires in an hour: %+v, %v", p, err)
	}
	for _, token := range []string{"ci-toke", "", hash("ci-token"), "ci"} {
		if _, err := f.Authenticate(t.Context(), token); !errors.Is(err, guard.ErrUnknown) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestScopedFaults(t *testing.T) {
	good := fmt.Sprintf("sha256 = %q\n", hash(canary))
	for _, test := range []struct{ text, want string }{
		{"", "has no token"},
		{"[tokens]", "has no token"},
		{"tokens = 1", "line 1, column 10: tokens: write a table"},
		{"\n\ntoken = 1", "line 3, column 9: token: unknown key; did you mean tokens?"},
		{"[tokens]\nci = 1", "line 2, column 6: tokens.ci: write a table"},
		{"[tokens.ci]\n" + good, "line 1, column 1: tokens.ci: servers is missing"},
		{"[tokens.ci]\nservers = [\"*\"]", "tokens.ci.sha256: write the token's SHA-256"},
		{"[tokens.ci]\n" + good + "servers = []", "line 3, column 12: tokens.ci.servers: write 1 to"},
		{"[tokens.ci]\n" + good + "servers = \"*\"", "line 3, column 12: tokens.ci.servers: write an array"},
		{"[tokens.ci]\n" + good + "servers = [\"*\", 1]", "line 3, column 12: tokens.ci.servers: a pattern is"},
		{"[tokens.ci]\n" + good + "servers = [\"\"]", "line 3, column 12: tokens.ci.servers: a pattern is"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\ntools = []", "line 4, column 10: tokens.ci.tools: write 1 to"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\n  tool = [\"x\"]", "line 4, column 11: tokens.ci.tool: unknown key; did you mean tools?"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nnonsense = 1", "known here: sha256, servers"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nexposure = \"hidden\"", "line 4, column 13: tokens.ci.exposure: write"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nexposure = 3", "line 4, column 12: tokens.ci.exposure: write"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nexpires = 2027-01-01", "line 4, column 11: tokens.ci.expires: write a date"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nexpires = 2027-01-01T00:00:00", "tokens.ci.expires: write a date"},
		{"[tokens.ci]\n" + good + "servers = [\"*\"]\nexpires = \"2027-01-01T00:00:00Z\"", "tokens.ci.expires: write a date"},
		{"[tokens.ci]\nservers = [\"*\"]\nsha256 = \"" + canary + "\"", "line 3, column 11: tokens.ci.sha256: write the token's SHA-256"},
		{"[tokens.ci]\nservers = [\"*\"]\nsha256 = " + canary, "line 3, column 1"},
		{"[tokens.ci]\nservers = [\"*\"]\nsha256 = []", "line 3, column 11: tokens.ci.sha256: there is none"},
		{"[tokens.ci]\nservers = [\"*\"]\nsha256 = [[\"x\"]]", "line 3, column 11: tokens.ci.sha256: write"},
		{"[tokens.ci]\nservers = [\"*\"]\n" + good + "[tokens.b]\nservers = [\"*\"]\n" + good, "tokens.b has this token already"},
		{"[tokens.\"a b\"]\nservers = [\"*\"]\n" + good, "line 1, column 1: tokens.\"a b\": a name has"},
		{"[tokens.\"a,b\"]\nservers = [\"*\"]\n" + good, "tokens.\"a,b\": a name has"},
		{"[tokens.\"\\\"\"]\nservers = [\"*\"]\n" + good, "a name has"},
		{"[tokens.ci]\n[tokens.ci]", "line 2, column "},
		{"[tokens.ci", "line 1, column "},
		{"\xff", "not UTF-8"},
	} {
		_, err := tokenfile.Scoped(file(t, test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q:\n%v\nwant %s", test.text, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), hash(canary))) {
			t.Errorf("the error holds what stands in the file: %v", err)
		}
	}
}

// One fault anywhere takes the whole file: it must not be that a token's limits are
// dropped and the token stays.
func TestAFaultLetsNobodyIn(t *testing.T) {
	path := file(t, fmt.Sprintf("[tokens.a]\nsha256 = %q\nservers = [\"x\"]\n", hash(canary)))
	f, err := tokenfile.Scoped(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	write(t, path, fmt.Sprintf("[tokens.a]\nsha256 = %q\nservers = [\"x\"]\n[tokens.b]\nserver = 1", hash(canary)))
	if _, err := f.Authenticate(t.Context(), canary); err == nil || !strings.Contains(err.Error(), path+": line 5") {
		t.Errorf("with a fault in another table: %v", err)
	}
}

func FuzzScoped(f *testing.F) {
	f.Add("[tokens.ci]\nsha256 = \"" + hash("x") + "\"\nservers = [\"*\"]\n")
	f.Add("tokens = { a = { sha256 = [], servers = [1] } }")
	f.Add("[tokens.\"a,b\"]\n[[tokens.x]]\n")
	path := filepath.Join(f.TempDir(), "tokens")
	f.Fuzz(func(t *testing.T, text string) {
		write(t, path, text)
		file, err := tokenfile.Scoped(path)
		if err != nil {
			return
		}
		if p, err := file.Authenticate(t.Context(), "x"); err == nil && (!strings.HasPrefix(p.ID, "token:") || len(p.Grants) != 1 || len(p.Grants[0].Servers) == 0) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}
