package provenance

import (
	"bytes"
	_ "embed" // the public Sigstore's root
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// publicGood is trusted_root.json of tuf-repo-cdn.sigstore.dev, as @sigstore/tuf 4.0.2
// on npm has it. What GitHub signs for public repositories is of this Sigstore.
//
//go:embed roots/public-good.json
var publicGood []byte

// maxRoots is more than anybody trusts; gh attestation trusted-root prints two.
const maxRoots = 20

// PublicGood is the root of the public Sigstore.
func PublicGood() ([]*root.TrustedRoot, error) { return ParseRoots(publicGood) }

// ParseRoots reads trusted roots, one or several in JSON one after the other, as
// 'gh attestation trusted-root' prints them.
func ParseRoots(data []byte) ([]*root.TrustedRoot, error) {
	texts, err := Split(data, maxRoots)
	if err != nil {
		return nil, err
	}
	var all []*root.TrustedRoot
	for _, text := range texts {
		r, err := root.NewTrustedRootFromJSON(text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Split takes values of JSON apart that follow each other: at least one, at most limit.
func Split(data []byte, limit int) ([][]byte, error) {
	var all [][]byte
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var value json.RawMessage
		if err := dec.Decode(&value); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("it is no JSON: %w", err)
		}
		if all = append(all, value); len(all) > limit {
			return nil, fmt.Errorf("it holds more than %d", limit)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it is empty")
	}
	return all, nil
}
