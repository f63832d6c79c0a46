package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore/pkg/signature"
	sigdsse "github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/collet-dev/collet/attest/internal/provenance"
)

// sigstore is a Sigstore of its own: the log and the timestamps are those of the
// library's, the certificates are made here, because the library's say nothing of
// GitHub's extensions.
type sigstore struct {
	*ca.VirtualSigstore
	root, intermediate *x509.Certificate
	key                *ecdsa.PrivateKey
}

func newSigstore(t *testing.T) *sigstore {
	t.Helper()
	v, err := ca.NewVirtualSigstore()
	must(t, err)
	s := &sigstore{VirtualSigstore: v}
	rootCert, rootKey, err := ca.GenerateRootCa()
	must(t, err)
	s.root = rootCert
	s.intermediate, s.key, err = ca.GenerateFulcioIntermediate(rootCert, rootKey)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trustedRoot writes the file that trusts s, whose authority ended at end; the zero
// time is never.
func (s *sigstore) trustedRoot(t *testing.T, end time.Time) string {
	t.Helper()
	authority := &root.FulcioCertificateAuthority{
		Root: s.root, Intermediates: []*x509.Certificate{s.intermediate},
		ValidityPeriodStart: time.Now().Add(-5 * time.Hour), ValidityPeriodEnd: end,
	}
	tsa := s.TimestampingAuthorities()[0].(*root.SigstoreTimestampingAuthority)
	logs := s.RekorLogs()
	for id, log := range logs {
		raw := make([]byte, 32)
		_, err := fmt.Sscanf(id, "%x", &raw)
		must(t, err)
		log.ID = raw
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, nil, []root.TimestampingAuthority{tsa}, logs)
	must(t, err)
	data, err := r.MarshalJSON()
	must(t, err)
	return file(t, "trusted_root.json", data)
}

func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

// claim is what is attested, and by whom.
type claim struct {
	content    string // of the file
	signer     string // the certificate's subject
	source     string // the repository that was built, "" leaves the extension out
	issuer     string
	ref        string // that was built
	predicate  string
	unlogged   bool
	untimed    bool
	beforehand time.Duration // how long ago the certificate was issued
}

const workflow = "/.github/workflows/release.yml@refs/tags/v1.0.0"

// by is the claim of a repository's release workflow about a file.
func by(repository, content string) claim {
	address := "https://github.com/" + repository
	return claim{content: content, signer: address + workflow, source: address, issuer: provenance.Issuer, ref: "refs/tags/v1.0.0", predicate: provenance.Predicate}
}

// attest signs a claim; the bundle is of version 0.3.
func (s *sigstore) attest(t *testing.T, c claim) []byte {
	t.Helper()
	statement, err := json.Marshal(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       []any{map[string]any{"name": "file", "digest": map[string]string{"sha256": digest(c.content)}}},
		"predicateType": c.predicate,
		"predicate":     map[string]any{"buildDefinition": map[string]any{"buildType": "https://actions.github.io/buildtypes/workflow/v1"}},
	})
	must(t, err)
	leaf, key := s.leaf(t, c)
	signer, err := signature.LoadECDSASignerVerifier(key, crypto.SHA256)
	must(t, err)
	dsseSigner, err := dsse.NewEnvelopeSigner(&sigdsse.SignerAdapter{SignatureSigner: signer, Pub: leaf.PublicKey})
	must(t, err)
	envelope, err := dsseSigner.SignPayload(t.Context(), "application/vnd.in-toto+json", statement)
	must(t, err)
	sig, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	must(t, err)
	material := &protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: leaf.Raw}},
	}
	if !c.unlogged {
		logged, err := s.GenerateTlogEntry(leaf, envelope, sig, time.Now().Unix(), true)
		must(t, err)
		entry := logged.TransparencyLogEntry()
		entry.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
		promise, err := s.RekorSignPayload(tlog.RekorPayload{
			Body: base64.StdEncoding.EncodeToString(entry.CanonicalizedBody), IntegratedTime: entry.IntegratedTime,
			LogIndex: entry.LogIndex, LogID: fmt.Sprintf("%x", entry.LogId.KeyId),
		})
		must(t, err)
		entry.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
		material.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if !c.untimed {
		stamp, err := s.TimestampResponse(sig)
		must(t, err)
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}},
		}
	}
	data, err := protojson.Marshal(&protobundle.Bundle{
		MediaType:            "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: material,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: statement, PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: sig}},
		}},
	})
	must(t, err)
	return data
}

// leaf is a certificate as GitHub's workflows get it: valid for ten minutes, with the
// extensions 1.3.6.1.4.1.57264.1.x of Fulcio.
func (s *sigstore) leaf(t *testing.T, c claim) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	subject, err := url.Parse(c.signer)
	must(t, err)
	extension := func(n int, value string) pkix.Extension {
		der, err := asn1.MarshalWithParams(value, "utf8")
		must(t, err)
		return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, n}, Value: der}
	}
	extensions := []pkix.Extension{extension(8, c.issuer), extension(14, c.ref), extension(13, "0123456789abcdef0123456789abcdef01234567")}
	if c.source != "" {
		extensions = append(extensions, extension(12, c.source))
	}
	from := time.Now().Add(-c.beforehand - time.Minute)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), URIs: []*url.URL{subject}, NotBefore: from, NotAfter: from.Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, ExtraExtensions: extensions,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.intermediate, &key.PublicKey, s.key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert, key
}

func digest(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// withoutLog writes a file that trusts s's certificates and timestamps, and no log.
func (s *sigstore) withoutLog(t *testing.T) string {
	t.Helper()
	authority := &root.FulcioCertificateAuthority{Root: s.root, Intermediates: []*x509.Certificate{s.intermediate}, ValidityPeriodStart: time.Now().Add(-5 * time.Hour)}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, nil, s.TimestampingAuthorities(), nil)
	must(t, err)
	data, err := r.MarshalJSON()
	must(t, err)
	return file(t, "trusted_root.json", data)
}

// tampered changes one bit in the middle of a bundle's member, wherever it is.
func tampered(t *testing.T, bundle []byte, member string) []byte {
	t.Helper()
	var tree any
	must(t, json.Unmarshal(bundle, &tree))
	done := false
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v[member].(string); ok {
				raw, err := base64.StdEncoding.DecodeString(text)
				must(t, err)
				raw[len(raw)/2] ^= 1
				v[member], done = base64.StdEncoding.EncodeToString(raw), true
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(tree)
	if !done {
		t.Fatalf("the bundle has no %s", member)
	}
	data, err := json.Marshal(tree)
	must(t, err)
	return data
}
