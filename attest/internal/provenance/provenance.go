// Package provenance says whether a Sigstore bundle attests that a file was built by
// the GitHub Actions of a repository: SLSA provenance that the repository's workflow
// signed, with a certificate of a Sigstore that is trusted, logged or timestamped
// while that was valid.
//
// It fetches nothing, and reads no file but those that it is given.
package provenance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

const (
	// Issuer is who vouches for the workflows of github.com.
	Issuer = "https://token.actions.githubusercontent.com"
	// Predicate is the type of statement that counts (SLSA 1.0, "Provenance").
	Predicate = "https://slsa.dev/provenance/v1"
)

// Digest is one of a file's.
type Digest struct {
	Algorithm string // as in-toto spells it: "sha256"
	Value     []byte
}

// ParseDigest reads ALGORITHM:HEX.
func ParseDigest(s string) (Digest, error) {
	algorithm, text, _ := strings.Cut(s, ":")
	value, err := hex.DecodeString(text)
	if size := map[string]int{"sha256": 32, "sha512": 64}[algorithm]; err != nil || size == 0 || len(value) != size {
		return Digest{}, fmt.Errorf("%q is no digest, which is sha256:HEX", s)
	}
	return Digest{algorithm, value}, nil
}

// Policy is what an attestation has to say.
type Policy struct {
	// Repository is OWNER/NAME on github.com, whose workflow signed it; "" is any. The
	// case of letters does not count, as on GitHub.
	Repository string
	// Digests are of the file, and of what it was packed in: one of them has to be a
	// subject.
	Digests []Digest
	// Roots are the Sigstores to trust. One of them has to have issued the certificate.
	Roots []*root.TrustedRoot
}

// Signer is who signed an attestation that holds, as the certificate says.
type Signer struct {
	Identity   string    `json:"signer"`     // the workflow, https://github.com/OWNER/NAME/.github/workflows/FILE@REF
	Issuer     string    `json:"issuer"`     // who vouches for that
	Repository string    `json:"repository"` // what was built, https://github.com/OWNER/NAME
	Ref        string    `json:"ref,omitempty"`
	Commit     string    `json:"commit,omitempty"`
	Time       time.Time `json:"time"` // of the signature, as a log or a timestamp authority says
}

// Part is what of an attestation does not hold.
type Part string

// The parts of an attestation, in the order in which they are looked at.
const (
	PartBundle    Part = "bundle"    // it is no Sigstore bundle
	PartSignature Part = "signature" // signature, certificate, log or timestamp
	PartDigest    Part = "digest"    // it is of another file
	PartIdentity  Part = "identity"  // somebody else signed it
	PartPredicate Part = "predicate" // it states something else than provenance
)

// Error is that an attestation does not hold.
type Error struct {
	Part Part
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Verify verifies one bundle, as JSON (Sigstore bundle 0.1 to 0.3). An error is an
// *Error.
func Verify(data []byte, p Policy) (*Signer, error) {
	b := &bundle.Bundle{}
	if err := b.UnmarshalJSON(data); err != nil {
		return nil, &Error{PartBundle, fmt.Errorf("it is no Sigstore bundle: %w", err)}
	}
	if envelope, err := b.Envelope(); err != nil || envelope == nil {
		return nil, &Error{PartBundle, errors.New("it is a signature without a statement, which says nothing of where the file was built")}
	}
	identity, err := p.identity()
	if err != nil {
		return nil, &Error{PartIdentity, err}
	}
	var failed *Error
	for _, trusted := range p.Roots {
		v, err := verifier(trusted)
		if err != nil {
			return nil, &Error{PartSignature, err}
		}
		for _, d := range p.Digests {
			result, err := v.Verify(b, verify.NewPolicy(verify.WithArtifactDigest(d.Algorithm, d.Value), verify.WithCertificateIdentity(identity)))
			if err == nil {
				return p.signer(result)
			}
			if e := p.why(v, b, err); failed == nil || failed.Part == PartSignature {
				failed = e
			}
		}
	}
	if failed == nil {
		failed = &Error{PartSignature, errors.New("there is no root to trust, or no digest to compare")}
	}
	return nil, failed
}

// identity is who may have signed it.
func (p Policy) identity() (verify.CertificateIdentity, error) {
	repository := `[^/]+/[^/]+`
	if p.Repository != "" {
		repository = regexp.QuoteMeta(p.Repository)
	}
	return verify.NewShortCertificateIdentity(Issuer, "", "", `(?i)^https://github\.com/`+repository+`/\.github/workflows/[^/@]+@.+$`)
}

// verifier asks of a signature all that its Sigstore offers: those with a log that it
// was logged, those with a log of certificates that its certificate was. All have to
// say when it was made, because certificates are valid for minutes.
func verifier(trusted *root.TrustedRoot) (*verify.Verifier, error) {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1)}
	if len(trusted.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	return verify.NewVerifier(trusted, options...)
}

// signer checks what the library's policies leave open.
func (p Policy) signer(result *verify.VerificationResult) (*Signer, error) {
	c := result.Signature.Certificate
	s := &Signer{
		Identity: c.SubjectAlternativeName, Issuer: c.Issuer, Repository: c.SourceRepositoryURI,
		Ref: c.SourceRepositoryRef, Commit: c.SourceRepositoryDigest,
	}
	for _, t := range result.VerifiedTimestamps {
		if s.Time.IsZero() || t.Timestamp.Before(s.Time) {
			s.Time = t.Timestamp.UTC()
		}
	}
	// The workflow's repository and the one that was built differ when a workflow is
	// called from elsewhere.
	if workflow, _, _ := strings.Cut(s.Identity, "/.github/workflows/"); !strings.EqualFold(workflow, s.Repository) {
		return nil, &Error{PartIdentity, fmt.Errorf("it was signed by %s for a build of %q", s.Identity, s.Repository)}
	}
	if got := result.Statement.GetPredicateType(); got != Predicate {
		return nil, &Error{PartPredicate, fmt.Errorf("it states %s, and not %s", got, Predicate)}
	}
	return s, nil
}

// why finds out what a verification failed for: what does not hold without regard to
// file and signer is the signature.
func (p Policy) why(v *verify.Verifier, b *bundle.Bundle, err error) *Error {
	result, unsound := v.Verify(b, verify.NewPolicy(verify.WithoutArtifactUnsafe(), verify.WithoutIdentitiesUnsafe()))
	if unsound != nil {
		return &Error{PartSignature, unsound}
	}
	for _, d := range p.Digests {
		if _, other := v.Verify(b, verify.NewPolicy(verify.WithArtifactDigest(d.Algorithm, d.Value), verify.WithoutIdentitiesUnsafe())); other == nil {
			return &Error{PartIdentity, p.stranger(result.Signature.Certificate)}
		}
	}
	return &Error{PartDigest, fmt.Errorf("it is of another file: %w", err)}
}

func (p Policy) stranger(c *certificate.Summary) error {
	if c == nil {
		return errors.New("it was signed with a key, and not by a workflow")
	}
	if c.Issuer != Issuer {
		return fmt.Errorf("%s, for whom %s vouches, signed it, and not a workflow, for which %s does", c.SubjectAlternativeName, c.Issuer, Issuer)
	}
	wanted := "a workflow on github.com"
	if p.Repository != "" {
		wanted = "a workflow of github.com/" + p.Repository
	}
	return fmt.Errorf("%s signed it, and not %s", c.SubjectAlternativeName, wanted)
}
