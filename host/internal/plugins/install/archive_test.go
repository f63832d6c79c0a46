package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed is a file of an archive that holds so many zero bytes, which nobody keeps in
// memory.
type packed struct {
	name string
	size int64
}

func (z packed) write(w io.Writer) error {
	block := make([]byte, 1<<20)
	for left := z.size; left > 0; {
		n, err := w.Write(block[:min(left, int64(len(block)))])
		if err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

func tarOfZeros(t *testing.T, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: f.name, Size: f.size, Mode: 0o755, Format: tar.FormatGNU}), f.write(w)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOfZeros(t *testing.T, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		file, err := w.Create(f.name)
		if err == nil {
			err = f.write(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipOf has entries of any mode, which are not compressed.
func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name}
		h.SetMode(map[byte]os.FileMode{tar.TypeReg: 0o755, tar.TypeSymlink: os.ModeSymlink | 0o777, tar.TypeChar: os.ModeDevice | os.ModeCharDevice, tar.TypeFifo: os.ModeNamedPipe, tar.TypeDir: os.ModeDir | 0o755}[e.kind])
		f, err := w.CreateHeader(h)
		if err == nil && e.kind != tar.TypeDir {
			_, err = f.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// small has a plugin be 4 MiB at most, so that what is too large is soon written.
func small(t *testing.T) {
	t.Helper()
	before := maxPlugin
	maxPlugin = 4 << 20
	t.Cleanup(func() { maxPlugin = before })
}

// many are entries before the plugin.
func many(n int) []entry {
	all := make([]entry, 0, n+1)
	for i := range n {
		all = append(all, entry{fmt.Sprint(i), "", tar.TypeReg})
	}
	return append(all, entry{"collet-plugin-x", "the plugin", tar.TypeReg})
}

// Archives of strangers. Whatever is in one, a plugin is taken out of it whole, or
// nothing, and nothing else is written anywhere; "" is that the plugin is taken.
func TestHostileArchives(t *testing.T) {
	small(t)
	const plugin = "collet-plugin-x"
	the := entry{plugin, "the plugin", tar.TypeReg}
	// A file that says it is small in the directory of the archive, and is not.
	lying := zipOfZeros(t, packed{plugin, 1 << 10})
	at := bytes.LastIndex(lying, []byte("PK\x01\x02"))
	copy(lying[at+24:], []byte{10, 0, 0, 0})
	for what, c := range map[string]struct {
		file string
		data []byte
		says string
	}{
		"as many entries as there may be, tar": {".tar.gz", tarGz(t, many(maxEntries-1)...), ""},
		"as many entries as there may be, zip": {".zip", zipOf(t, many(maxEntries-1)...), ""},
		"too many entries, tar":                {".tar.gz", tarGz(t, many(maxEntries)...), "there is no collet-plugin-x among the first 10000 files"},
		"too many entries, zip":                {".zip", zipOf(t, many(maxEntries)...), "there is no collet-plugin-x among the first 10000 files"},
		"a plugin that is too large, tar":      {".tar.gz", tarOfZeros(t, packed{plugin, maxPlugin + 1}), "larger than"},
		"a plugin that is too large, zip":      {".zip", zipOfZeros(t, packed{plugin, maxPlugin + 1}), "larger than"},
		"a bomb before the plugin, tar":        {".tar.gz", tarOfZeros(t, packed{"bomb", 2*maxPlugin + 1}, packed{plugin, 10}), "unpacks to more than"},
		"a bomb before the plugin, zip":        {".zip", zipOfZeros(t, packed{"bomb", 2*maxPlugin + 1}, packed{plugin, 10}), ""}, // it is not unpacked
		"a size that is not true, zip":         {".zip", lying, "zip"},
		"cut short, tar":                       {".tar.gz", cut(tarGz(t, entry{plugin, strings.Repeat("the plugin", 1000), tar.TypeReg})), "unexpected EOF"},
		"cut short, zip":                       {".zip", cut(zipped(t, the)), "zip"},
		"bits that changed, zip":               {".zip", flip(zipOf(t, the), "the plugin"), "checksum"},
		"a symbolic link, zip":                 {".zip", zipOf(t, entry{plugin, "/etc/passwd", tar.TypeSymlink}), "there is no"},
		"a hard link, tar":                     {".tar.gz", tarGz(t, entry{plugin, "", tar.TypeLink}), "there is no"},
		"a device, tar":                        {".tar.gz", tarGz(t, entry{plugin, "", tar.TypeChar}), "there is no"},
		"a device, zip":                        {".zip", zipOf(t, entry{plugin, "", tar.TypeChar}), "there is no"},
		"a pipe, tar":                          {".tar.gz", tarGz(t, entry{plugin, "", tar.TypeFifo}), "there is no"},
		"a pipe, zip":                          {".zip", zipOf(t, entry{plugin, "", tar.TypeFifo}), "there is no"},
		"a directory, tar":                     {".tar.gz", tarGz(t, entry{plugin + "/", "", tar.TypeDir}), "there is no"},
		"a directory, zip":                     {".zip", zipOf(t, entry{plugin + "/", "", tar.TypeDir}), "there is no"},
		"an empty plugin":                      {".tar.gz", tarGz(t, entry{plugin, "", tar.TypeReg}), "empty"},
		"the same twice, tar":                  {".tar.gz", tarGz(t, the, the), "two files"},
		"the same twice, zip":                  {".zip", zipOf(t, the, the), "two files"},
		"two in different directories":         {".tar.gz", tarGz(t, the, entry{"b/" + plugin, "another", tar.TypeReg}), "two files"},
		"with and without the platform":        {".zip", zipOf(t, the, entry{asset, "another", tar.TypeReg}), "two files"},
		"a link and the plugin, zip":           {".zip", zipOf(t, entry{"a/" + plugin, "/etc/passwd", tar.TypeSymlink}, the), ""},
		"another case, tar":                    {".tar.gz", tarGz(t, entry{"Collet-Plugin-X", "another", tar.TypeReg}), "there is no"},
		"another case besides, zip":            {".zip", zipOf(t, entry{"COLLET-PLUGIN-X", "another", tar.TypeReg}, the), ""},
		"a path with backslashes":              {".zip", zipOf(t, entry{`..\..\` + plugin, "another", tar.TypeReg}), "there is no"},
		"an absolute path":                     {".zip", zipOf(t, entry{"/etc/" + plugin, "the plugin", tar.TypeReg}), ""},
		"no archive, tar":                      {".tar.gz", []byte("the plugin"), "gzip"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing")) // nothing is unpacked there, either
			dir := release(t, map[string][]byte{asset + c.file: c.data})
			s := Store{Dir: t.TempDir()}
			a, err := (Fetcher{}).Find(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			p, err := a.Stage(t.Context(), s)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if err == nil {
				if p.SHA256 != sum("the plugin") && p.SHA256 != sum(strings.Repeat("\x00", 10)) {
					t.Errorf("something else was taken: %+v", p)
				}
				p.Discard()
			}
			if left, _ := os.ReadDir(filepath.Join(s.Dir, "store")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func cut(data []byte) []byte { return data[:len(data)/2] }

// flip changes a bit of what comes after content's beginning.
func flip(data []byte, content string) []byte {
	at := bytes.Index(data, []byte(content))
	data[at] ^= 1
	return data
}

// An archive that is larger than a plugin may be is not read to its end.
func TestArchiveTooLarge(t *testing.T) {
	small(t)
	read := int64(0)
	a := &Asset{Name: "x", file: asset + ".tar.gz", open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(endless{&read}), nil
	}}
	s := Store{Dir: t.TempDir()}
	if _, err := a.Stage(t.Context(), s); err == nil || !strings.Contains(err.Error(), "the archive is larger than") || read > maxPlugin+1<<20 {
		t.Errorf("%v after %d bytes", err, read)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "store")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

type endless struct{ read *int64 }

func (e endless) Read(b []byte) (int, error) {
	*e.read += int64(len(b))
	return len(b), nil
}
