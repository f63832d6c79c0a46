package install

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// maxEntries is how many files of an archive are looked at.
const maxEntries = 10_000

// Stage fetches an asset, checks it, and puts the plugin in it into the store. Of an
// archive one file alone is taken, by its own name, and written under a name that the
// archive does not decide: nothing in it says where anything goes.
func (a *Asset) Stage(ctx context.Context, s Store) (*Staged, error) {
	p, err := a.stage(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("install %s from %s: %w", a.Name, a.Source, s.explain(err))
	}
	p.Source, p.Version = a.Source, a.Version
	if a.SHA256 != "" {
		p.Checked = checksumsFile
	}
	return p, nil
}

func (a *Asset) stage(ctx context.Context, s Store) (*Staged, error) {
	from, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	packed := strings.HasSuffix(a.file, ".tar.gz") || strings.HasSuffix(a.file, ".tgz") || strings.HasSuffix(a.file, ".zip")
	if !packed {
		return s.Stage(ctx, a.Name, from, a.SHA256)
	}
	// Nothing is unpacked that is not what its checksum says.
	if err := os.MkdirAll(s.store(), 0o700); err != nil {
		return nil, err
	}
	archive, err := os.CreateTemp(s.store(), partPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(archive, h), io.LimitReader(contextReader{ctx, from}, maxPlugin+1))
	sum := hex.EncodeToString(h.Sum(nil))
	switch {
	case err != nil:
		return nil, err
	case n > maxPlugin:
		return nil, fmt.Errorf("the archive is larger than %d bytes", maxPlugin)
	case a.SHA256 != "" && sum != a.SHA256:
		return nil, fmt.Errorf("the sha256 of %s is %s, and its checksum says %s: it was damaged on the way, or somebody changed it", a.file, sum, a.SHA256)
	}
	var p *Staged
	if strings.HasSuffix(a.file, ".zip") {
		p, err = a.stageZip(ctx, s, archive, n)
	} else {
		p, err = a.stageTar(ctx, s, archive)
	}
	if err == nil {
		p.digests = []string{sum, p.SHA256}
	}
	return p, err
}

// isPlugin reports whether a file of an archive is the plugin: a regular file with
// its name, with or without the platform, in whatever directory.
func (a *Asset) isPlugin(name string) bool {
	base := unpackedName(path.Base(name))
	return base == prefix+a.Name || base == unpackedName(a.file)
}

// missing is that the plugin is not among the entries that were looked at.
func (a *Asset) missing(entries int) error {
	if entries >= maxEntries {
		return fmt.Errorf("there is no %s%s among the first %d files of %s", prefix, a.Name, maxEntries, a.file)
	}
	return fmt.Errorf("there is no %s%s in %s", prefix, a.Name, a.file)
}

// twice is that nobody can say which file of an archive is meant.
func (a *Asset) twice() error {
	return fmt.Errorf("%s has two files that may be %s%s", a.file, prefix, a.Name)
}

func (a *Asset) stageTar(ctx context.Context, s Store, archive *os.File) (p *Staged, err error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && p != nil {
			p.Discard()
			p = nil
		}
	}()
	// What is skipped is unpacked as well: a small archive may hold gigabytes of it.
	entries := tar.NewReader(&bounded{contextReader{ctx, z}, 2 * maxPlugin})
	n := 0
	for ; n < maxEntries; n++ {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p, err
		}
		if e.Typeflag != tar.TypeReg || !a.isPlugin(e.Name) {
			continue
		}
		if p != nil {
			return p, a.twice()
		}
		if p, err = s.Stage(ctx, a.Name, entries, ""); err != nil {
			return nil, err
		}
	}
	if p == nil {
		return nil, a.missing(n)
	}
	return p, nil
}

// bounded reads at most so many bytes; more is an error, and not the end.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the archive unpacks to more than %d bytes", 2*maxPlugin)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (a *Asset) stageZip(ctx context.Context, s Store, archive *os.File, size int64) (*Staged, error) {
	z, err := zip.NewReader(archive, size)
	if err != nil {
		return nil, err
	}
	var plugin *zip.File
	looked := z.File[:min(len(z.File), maxEntries)]
	for _, e := range looked {
		if !e.Mode().IsRegular() || !a.isPlugin(e.Name) {
			continue
		}
		if plugin != nil {
			return nil, a.twice()
		}
		plugin = e
	}
	if plugin == nil {
		return nil, a.missing(len(looked))
	}
	r, err := plugin.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return s.Stage(ctx, a.Name, r, "")
}
