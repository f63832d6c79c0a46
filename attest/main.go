// Command collet-attest says whether a file was built where it is said to come from.
// 'collet plugins install' runs it; it is a program of its own because what verifies
// Sigstore bundles would make collet larger, and slower to start, for every command.
//
//	collet-attest --digest sha256:HEX --repository OWNER/NAME BUNDLE...
//
// It prints one line of JSON: {"ok":true,"signer",...} when one of the bundles holds,
// else {"ok":false,"part","file","error"}. A file holds one bundle, or several that
// follow each other. The exit code is 0 for either answer, 2 when it could not give one.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/golang/snappy"

	"github.com/collet-dev/collet/attest/internal/provenance"
)

const (
	// maxFile bounds a file of bundles in bytes; GitHub accepts attestations of 16 MB.
	maxFile = 32 << 20
	// maxBundles is how many bundles of a file are looked at.
	maxBundles = 100
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// answer is the line.
type answer struct {
	OK bool `json:"ok"`
	*provenance.Signer
	Part  provenance.Part `json:"part,omitempty"`
	File  string          `json:"file,omitempty"`
	Error string          `json:"error,omitempty"`
}

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("collet-attest", flag.ContinueOnError)
	flags.SetOutput(errs)
	policy := provenance.Policy{}
	flags.StringVar(&policy.Repository, "repository", "", "the repository on github.com that built it, OWNER/NAME")
	flags.Func("digest", "sha256:HEX of the file, or of what it is packed in; may be repeated", func(s string) error {
		d, err := provenance.ParseDigest(s)
		policy.Digests = append(policy.Digests, d)
		return err
	})
	trusted := flags.String("trusted-root", "", "a file of Sigstore roots to trust in the place of the public one's")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(errs, "collet-attest:", err)
		return 2
	}
	if len(policy.Digests) == 0 || flags.NArg() == 0 {
		fmt.Fprintln(errs, "usage: collet-attest --digest sha256:HEX [--repository OWNER/NAME] [--trusted-root FILE] BUNDLE...")
		return 2
	}
	var err error
	if *trusted == "" {
		policy.Roots, err = provenance.PublicGood()
	} else {
		var data []byte
		if data, err = read(*trusted); err == nil {
			policy.Roots, err = provenance.ParseRoots(data)
		}
		if err != nil {
			err = fmt.Errorf("read the trusted root %s: %w", *trusted, err)
		}
	}
	if err != nil {
		return fail(err)
	}
	line, err := json.Marshal(verify(flags.Args(), policy))
	if err != nil {
		return fail(err)
	}
	if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
		return fail(err)
	}
	return 0
}

// verify looks for one bundle that holds. When there is none, it says of the first
// what is wrong with it, or of one that came further.
func verify(files []string, policy provenance.Policy) answer {
	var failed *provenance.Error
	var of string
	note := func(file string, err *provenance.Error) {
		if failed == nil || rank(err.Part) > rank(failed.Part) {
			failed, of = err, filepath.Base(file)
		}
	}
	for _, file := range files {
		bundles, err := bundles(file)
		if err != nil {
			note(file, &provenance.Error{Part: provenance.PartBundle, Err: err})
		}
		for _, b := range bundles {
			signer, err := provenance.Verify(b, policy)
			if err == nil {
				return answer{OK: true, Signer: signer}
			}
			if e, ok := errors.AsType[*provenance.Error](err); ok {
				note(file, e)
			}
		}
	}
	return answer{Part: failed.Part, File: of, Error: failed.Error()}
}

// rank is how far a verification came.
func rank(p provenance.Part) int {
	return map[provenance.Part]int{provenance.PartSignature: 1, provenance.PartDigest: 2, provenance.PartIdentity: 3, provenance.PartPredicate: 4}[p]
}

// bundles are those of a file, which is JSON, or JSON as GitHub's storage has it:
// compressed with Snappy.
func bundles(file string) ([][]byte, error) {
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	if all, err := provenance.Split(data, maxBundles); err == nil {
		return all, nil
	}
	if n, err := snappy.DecodedLen(data); err == nil && n > 0 && n <= maxFile {
		if plain, err := snappy.Decode(nil, data); err == nil {
			data = plain
		}
	}
	return provenance.Split(data, maxBundles)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return data, err
}
