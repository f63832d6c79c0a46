package provenance

import (
	"strings"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/testing/data"
)

// A real release of npm's, attested by the public Sigstore: its certificate was logged.
func TestPublicGood(t *testing.T) {
	bundle, err := data.Bundle(t, "sigstore.js@2.0.0-provenance.sigstore.json").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	roots, err := PublicGood()
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDigest("sha512:" + sigstoreJS)
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Repository: "sigstore/sigstore-js", Digests: []Digest{d}, Roots: roots}
	s, err := Verify(bundle, p)
	if err != nil || s.Identity != "https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main" ||
		s.Repository != "https://github.com/sigstore/sigstore-js" || s.Ref != "refs/heads/main" || s.Time.Year() != 2023 {
		t.Errorf("%+v, %v", s, err)
	}
	p.Repository = "sigstore/other"
	if s, err := Verify(bundle, p); err == nil || !strings.Contains(err.Error(), "not a workflow of github.com/sigstore/other") {
		t.Errorf("%+v, %v", s, err)
	}
}

const sigstoreJS = "46d4e2f74c4877316640000a6fdf8a8b59f1e0847667973e9859f774dd31b8f1" +
	"e0937813b777fb66a2ac67d50540fe34640966eee9fc2ccca387082b4c85cd3c"
