// Package randomtree makes directories for tests, with all that a push has to leave
// out, and says by git's own word what of them is to be pushed.
package randomtree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	words = []string{"a", "b", "build", "foo", "tmp", "q", "keep.log", "x.log", "x.y", "top.txt", "a.txt", "sp ace", "sp ace ", "#x", "!y", "é", "日本", "-v", "a[b]", "café.txt",
		"quote\"d", "<&>", "semi;colon", "dollar$", "star*", ".hidden", "CON.txt", "e\u0301", "..."}
	rules = []string{"*.log", "build/", "/top.txt", "a/**/x.y", "!keep.log", "**/tmp", "f*/", "!foo/", "x/*.y", "**/q/**", "[a-c]*.txt", `\#x`, `\!y`, "sp ace", `sp ace\ `, "a/b", "/a/*",
		"!/a/b", "foo/**", "a/**", "**", "!*/", "# comment", "", "*.[!y]", "?", "q**", "/**/b", `a\[b]`, "[[:alpha:]].txt", "build/a/", "[]a]", "*.txt\r"}
)

// line is what large files consist of: as JSON they are little larger.
const line = "a line of a large file, which is long beside what its end needs in JSON\n"

// Fill puts random files under dir. Sizes says how large some are made.
func Fill(t testing.TB, r *rand.Rand, dir string, sizes ...int) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, []byte("not to be pushed"))
	level := []string{dir}
	for range 2 + r.IntN(3) {
		var next []string
		for _, at := range level {
			for range r.IntN(6) {
				name := filepath.Join(at, words[r.IntN(len(words))])
				if _, err := os.Lstat(name); err == nil {
					continue
				}
				switch r.IntN(12) {
				case 0, 1, 2, 3:
					next = append(next, name)
					_ = os.MkdirAll(name, 0o755)
				case 4:
					target := []string{outside, filepath.Dir(outside), "a", "nowhere", dir}[r.IntN(5)]
					_ = os.Symlink(target, name)
				case 5:
					write(t, name, [][]byte{{0xff, 0xfe, 1}, []byte("text\x00"), {0xc3}}[r.IntN(3)])
				case 6:
					write(t, name, nil)
				default:
					write(t, name, fmt.Appendf(nil, "%s <&>\u2028\u0001\r\n%d", name, r.Uint64()))
				}
			}
			if r.IntN(3) == 0 {
				var b strings.Builder
				for range 1 + r.IntN(5) {
					b.WriteString(rules[r.IntN(len(rules))] + "\n")
				}
				write(t, filepath.Join(at, ".gitignore"), []byte(b.String()))
			}
		}
		level = next
	}
	for i, size := range sizes {
		write(t, filepath.Join(dir, fmt.Sprintf("large-%d", i)), bytes.Repeat([]byte(line), size/len(line)+1)[:size])
	}
}

func write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil && filepath.Base(name) != ".gitignore" { // a directory of that name may be there
		t.Fatal(err)
	}
}

// Text is what of dir is to be pushed, by path: what git would add, is a regular file
// of at most max bytes, and text.
func Text(t testing.TB, dir string, max int) map[string]string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there, which says what .gitignore files mean")
	}
	git := filepath.Join(t.TempDir(), "git")
	run := func(args ...string) []byte {
		cmd := exec.Command("git", append([]string{"--git-dir=" + git, "--work-tree=" + dir, "-c", "core.excludesFile="}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	run("init", "-q")
	files := map[string]string{}
	for name := range bytes.SplitSeq(run("ls-files", "--others", "--exclude-standard", "-z"), []byte{0}) {
		at := filepath.Join(dir, string(name))
		info, err := os.Lstat(at)
		if len(name) == 0 || err != nil || !info.Mode().IsRegular() || info.Size() > int64(max) {
			continue
		}
		data, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 && utf8.Valid(name) {
			files[string(name)] = string(data)
		}
	}
	return files
}
