// Package attestation asks collet-attest, a program beside collet, whether Sigstore
// bundles attest where a file was built. It verifies nothing itself, and fetches
// nothing.
package attestation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Signer is who attested a file, as the certificate of the signature says.
type Signer struct {
	Identity   string    `json:"signer"`           // the workflow, https://github.com/OWNER/NAME/.github/workflows/FILE@REF
	Issuer     string    `json:"issuer"`           // who vouches for that
	Repository string    `json:"repository"`       // https://github.com/OWNER/NAME
	Ref        string    `json:"ref,omitempty"`    // what was built of it: refs/tags/v1.0.0
	Commit     string    `json:"commit,omitempty"` // likewise
	Time       time.Time `json:"time"`             // of the signature
}

// Bundle is a file of Sigstore bundles.
type Bundle struct {
	Name string // for messages
	Data []byte
}

// Claim is what bundles have to attest.
type Claim struct {
	Repository string   // OWNER/NAME on github.com; "" is any
	SHA256     []string // of the file, and of what it is packed in; one has to be attested
	Bundles    []Bundle // one has to hold
}

// Program is collet-attest.
type Program struct {
	// Path is the program's file.
	Path string
	// TrustedRoot is a file of Sigstore roots to trust; "" is the public Sigstore.
	TrustedRoot string
}

const (
	// runTime bounds a verification, which takes milliseconds.
	runTime = time.Minute
	// maxAnswer bounds the program's line, and what it says besides, in bytes.
	maxAnswer = 64 << 10
)

// Beside is the program beside this one, links followed.
func Beside() Program {
	name := "collet-attest"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return Program{Path: name}
	}
	return Program{Path: filepath.Join(filepath.Dir(exe), name)}
}

// RefusedError is that no bundle attests what is claimed.
type RefusedError struct {
	File string // the bundle that came closest
	Part string // what of it does not hold: bundle, signature, digest, identity, predicate
	Why  string
}

// Error says what failed.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("its attestation %s does not hold (%s): %s", e.File, e.Part, e.Why)
}

// Verify returns who attested what c claims. The error is a *RefusedError when nobody
// did.
func (p Program) Verify(ctx context.Context, c Claim) (*Signer, error) {
	dir, err := os.MkdirTemp("", "collet-attest-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var args []string
	if c.Repository != "" {
		args = append(args, "--repository="+c.Repository)
	}
	if p.TrustedRoot != "" {
		args = append(args, "--trusted-root="+p.TrustedRoot)
	}
	for _, sum := range c.SHA256 {
		args = append(args, "--digest=sha256:"+sum)
	}
	names := map[string]string{}
	for i, b := range c.Bundles {
		// Names are other people's, and their files ours.
		file := strconv.Itoa(i)
		names[file] = b.Name
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, b.Data, 0o600); err != nil {
			return nil, err
		}
		args = append(args, path)
	}
	line, err := p.run(ctx, args)
	if err != nil {
		return nil, err
	}
	var answer struct {
		OK *bool `json:"ok"`
		Signer
		Part  string `json:"part"`
		File  string `json:"file"`
		Error string `json:"error"`
	}
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
		return nil, fmt.Errorf("verify its attestation: %s gave no answer that can be read: %w", p.Path, err)
	case answer.OK == nil || *answer.OK && (answer.Identity == "" || answer.Repository == ""):
		return nil, fmt.Errorf("verify its attestation: %s gave half an answer: %s", p.Path, line)
	case !*answer.OK:
		return nil, &RefusedError{File: cmp.Or(names[answer.File], "file"), Part: answer.Part, Why: answer.Error}
	}
	return &answer.Signer, nil
}

func (p Program) run(ctx context.Context, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	out, errs := &limited{left: maxAnswer}, &limited{left: maxAnswer}
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")} // it needs nothing of ours
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("verify its attestation: there is no %s; it comes with collet, and belongs beside it", p.Path)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("verify its attestation: %s: %w", p.Path, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("verify its attestation: %s: %w: %s", p.Path, err, strings.TrimSpace(errs.kept.String()))
	case out.cut:
		return nil, fmt.Errorf("verify its attestation: %s answers with more than %d bytes", p.Path, maxAnswer)
	}
	return out.kept.Bytes(), nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	kept bytes.Buffer // no embedded one: its ReadFrom would know of no limit
	left int
	cut  bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.cut = l.cut || n < len(p)
	_, _ = l.kept.Write(p[:n])
	return len(p), nil
}
