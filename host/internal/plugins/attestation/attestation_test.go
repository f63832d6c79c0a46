package attestation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// This program is started again in the place of collet-attest: the digest says what
// it does.
func TestMain(m *testing.M) {
	what := ""
	for _, arg := range os.Args {
		if d, ok := strings.CutPrefix(arg, "--digest=sha256:"); ok && what == "" {
			what = d
		}
	}
	switch what {
	case "":
		os.Exit(m.Run())
	case "holds":
		data, _ := os.ReadFile(os.Args[len(os.Args)-1])
		if os.Getenv("GITHUB_TOKEN") != "" {
			data = []byte("it was given a secret")
		}
		var flags []string
		for _, a := range os.Args[1:] {
			if strings.HasPrefix(a, "--") {
				flags = append(flags, a)
			}
		}
		fmt.Printf(`{"ok":true,"signer":%q,"issuer":"i","repository":%q,"time":"2026-01-02T03:04:05Z"}`+"\n", strings.Join(flags, " "), data)
	case "refused":
		fmt.Printf(`{"ok":false,"part":"identity","file":%q,"error":"somebody else signed it"}`+"\n", filepath.Base(os.Args[len(os.Args)-1]))
	case "garbage":
		fmt.Println("hello")
	case "half":
		fmt.Println(`{"ok":true,"signer":"somebody"}`)
	case "nothing":
	case "empty":
		fmt.Println(`{}`)
	case "flood":
		fmt.Println(`{"ok":true,"signer":"s","repository":"` + strings.Repeat("x", maxAnswer) + `"}`)
	case "fails":
		fmt.Fprintln(os.Stderr, "the root cannot be read")
		os.Exit(2)
	case "hangs":
		time.Sleep(time.Hour) // until it is killed
	}
	os.Exit(0)
}

func TestVerify(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "secret")
	p := Program{Path: os.Args[0], TrustedRoot: "root.json"}
	s, err := p.Verify(t.Context(), Claim{Repository: "acme/x", SHA256: []string{"holds", "more"}, Bundles: []Bundle{{"../../evil", []byte("first")}, {"b", []byte("second")}}})
	if err != nil || s.Identity != "--repository=acme/x --trusted-root=root.json --digest=sha256:holds --digest=sha256:more" || s.Repository != "second" || s.Time.Year() != 2026 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = p.Verify(t.Context(), Claim{SHA256: []string{"refused"}, Bundles: []Bundle{{"x.sigstore.json", nil}}})
	if e, ok := errors.AsType[*RefusedError](err); !ok || e.Part != "identity" || e.File != "x.sigstore.json" || !strings.Contains(err.Error(), "somebody else signed it") {
		t.Errorf("%v", err)
	}
}

// Whatever the program does, nothing counts as attested but what it says is.
func TestNoAnswer(t *testing.T) {
	for what, says := range map[string]string{
		"garbage": "no answer", "nothing": "no answer", "half": "half an answer", "empty": "half an answer", "flood": "more than", "fails": "the root cannot be read",
	} {
		s, err := Program{Path: os.Args[0]}.Verify(t.Context(), Claim{SHA256: []string{what}, Bundles: []Bundle{{"b", nil}}})
		_, refused := errors.AsType[*RefusedError](err)
		if s != nil || err == nil || refused || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	if _, err := (Program{Path: filepath.Join(t.TempDir(), "collet-attest")}).Verify(t.Context(), Claim{SHA256: []string{"holds"}}); err == nil || !strings.Contains(err.Error(), "belongs beside it") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := (Program{Path: os.Args[0]}).Verify(ctx, Claim{SHA256: []string{"hangs"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
