package tree

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/plugins/github/internal/randomtree"
	"github.com/collet-dev/collet/sdk/failure"
)

// Of any tree the files are those that git would take, as far as they are text.
func TestLikeGit(t *testing.T) {
	for seed := range uint64(120) {
		dir := t.TempDir()
		randomtree.Fill(t, rand.New(rand.NewPCG(seed, 7)), dir)
		want := randomtree.Text(t, dir, MaxFile)
		got, err := Open(t.Context(), dir, ".")
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, name := range got.Files {
			if content, ok := got.Read(name); ok {
				files[name] = content
			}
		}
		got.Close()
		if !maps.Equal(files, want) {
			t.Errorf("seed %d: files %q\nwant %q\nskipped %v", seed, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(want)), got.Skipped)
			for p := range maps.Keys(want) {
				if _, ok := files[p]; !ok {
					t.Logf("missing %q", p)
				}
			}
			_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
				if filepath.Base(p) == ".gitignore" {
					data, _ := os.ReadFile(p)
					t.Logf("%s: %q", strings.TrimPrefix(p, dir), data)
				}
				return nil
			})
			return
		}
	}
}

func TestConfined(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"in/deep/a.txt", "in/.git/config", "in/.gitignore", "other/b.txt", ".gitignore"} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x.log\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "in/deep/x.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "in", "in/out": os.TempDir(), "in/deep/l.txt": "../../other/b.txt"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"..", "../" + filepath.Base(root), "/etc", "link", "link/deep", "in/out", "nowhere", "in/deep/a.txt", "in/.git", "in/../.."} {
		tree, err := Open(t.Context(), root, dir)
		if err == nil {
			t.Errorf("%s was opened: %q", dir, tree.Files)
			tree.Close()
			continue
		}
		if f := failure.Classify(err); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent {
			t.Errorf("%s: %s, %s", dir, f.Class, f.Delivery)
		}
	}
	tree, err := Open(t.Context(), root, "in/deep")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if !slices.Equal(tree.Files, []string{"a.txt"}) || tree.Ignored != 1 || len(tree.Skipped) != 1 || tree.Skipped[0] != (Skipped{"l.txt", "a symbolic link"}) {
		t.Errorf("files %q, ignored %d, skipped %v", tree.Files, tree.Ignored, tree.Skipped)
	}
	// What becomes a link after the listing is not read.
	if err := os.Remove(filepath.Join(root, "in/deep/a.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(root, "in/deep/a.txt")); err != nil {
		t.Fatal(err)
	}
	if content, ok := tree.Read("a.txt"); ok {
		t.Errorf("read %q through a link", content)
	}
}

// Nothing is pushed when it is not known what is left out, and not what is, even when
// it is named itself.
func TestWhatIsLeftOutIsNotKnown(t *testing.T) {
	for name, ignoring := range map[string]string{
		"too large":             strings.Repeat("# rules\n", maxIgnore/8) + ".env\n",
		"names the directory":   "sub/\n",
		"names what is above":   "/top\n",
		"a pattern of the path": "**/sub\n",
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "top/sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{".gitignore": ignoring, "top/sub/.env": "KEY=1"} {
			if err := os.WriteFile(filepath.Join(root, file), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := Open(t.Context(), root, "top/sub")
		if err == nil {
			t.Errorf("%s: %q would be pushed", name, tree.Files)
			tree.Close()
			continue
		}
		if f := failure.Classify(err); f.Class != failure.InvalidArguments || !strings.Contains(f.Message, ".gitignore") {
			t.Errorf("%s: %s, %v", name, f.Class, err)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(".env\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if tree, err := Open(t.Context(), root, "."); err != nil || !slices.Equal(tree.Files, []string{".gitignore"}) {
		t.Errorf("%v, %v", tree, err)
	} else {
		tree.Close()
	}
}
