package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"

	"github.com/collet-dev/collet/attest/internal/provenance"
)

const repository = "acme/collet-plugin-x"

// ask runs the program, whose answer is one line.
func ask(t *testing.T, args ...string) answer {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if strings.Count(out.String(), "\n") != 1 || !strings.HasSuffix(out.String(), "\n") {
		t.Fatalf("it is not one line: %q", out.String())
	}
	a := answer{}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAttested(t *testing.T) {
	s := newSigstore(t)
	trusted := s.trustedRoot(t, time.Time{})
	bundle := s.attest(t, by(repository, "the plugin"))
	other := s.attest(t, by(repository, "for another system"))
	for what, c := range map[string]struct {
		data []byte
		args []string
	}{
		"one bundle":     {bundle, []string{"--repository", repository, "--digest", "sha256:" + digest("the plugin")}},
		"case":           {bundle, []string{"--repository", "Acme/Collet-Plugin-X", "--digest", "sha256:" + digest("the plugin")}},
		"any repository": {bundle, []string{"--digest", "sha256:" + digest("the plugin")}},
		"in an archive":  {bundle, []string{"--repository", repository, "--digest", "sha256:" + digest("the archive"), "--digest", "sha256:" + digest("the plugin")}},
		"one of several": {append(append(other, '\n'), bundle...), []string{"--repository", repository, "--digest", "sha256:" + digest("the plugin")}},
		"compressed":     {snappy.Encode(nil, bundle), []string{"--repository", repository, "--digest", "sha256:" + digest("the plugin")}},
	} {
		a := ask(t, append(c.args, "--trusted-root", trusted, file(t, "b.sigstore.json", c.data))...)
		if !a.OK || a.Identity != "https://github.com/"+repository+workflow || a.Issuer != provenance.Issuer ||
			a.Repository != "https://github.com/"+repository || a.Ref != "refs/tags/v1.0.0" || len(a.Commit) != 40 || a.Time.IsZero() || a.Error != "" {
			t.Errorf("%s: %+v %+v", what, a, a.Signer)
		}
	}
	// A Sigstore without a log of its own, as GitHub's for private repositories: what
	// counts is a timestamp.
	unlogged := by(repository, "the plugin")
	unlogged.unlogged = true
	if a := ask(t, "--trusted-root", s.withoutLog(t), "--digest", "sha256:"+digest("the plugin"), file(t, "b", s.attest(t, unlogged))); !a.OK {
		t.Errorf("without a log: %+v", a)
	}
}

func TestRefused(t *testing.T) {
	s, stranger := newSigstore(t), newSigstore(t)
	trusted := s.trustedRoot(t, time.Time{})
	with := func(change func(*claim)) []byte {
		c := by(repository, "the plugin")
		change(&c)
		return s.attest(t, c)
	}
	good := with(func(*claim) {})
	for what, c := range map[string]struct {
		data []byte
		root string
		part provenance.Part
		says string
	}{
		"other repository":      {s.attest(t, by("evil/collet-plugin-x", "the plugin")), "", provenance.PartIdentity, "https://github.com/evil/collet-plugin-x/.github/workflows"},
		"its name is a prefix":  {s.attest(t, by(repository+"2", "the plugin")), "", provenance.PartIdentity, repository + "2"},
		"its name is a pattern": {s.attest(t, by("acme/colletXplugin-x", "the plugin")), "", provenance.PartIdentity, "signed it"},
		"not of a workflow": {with(func(c *claim) { c.signer = "https://github.com/" + repository + "/blob/main/workflow@refs/tags/v1" }),
			"", provenance.PartIdentity, "signed it"},
		"a called workflow":     {with(func(c *claim) { c.source = "https://github.com/evil/evil" }), "", provenance.PartIdentity, "evil/evil"},
		"no source":             {with(func(c *claim) { c.source = "" }), "", provenance.PartIdentity, `""`},
		"other issuer":          {with(func(c *claim) { c.issuer = "https://accounts.google.com" }), "", provenance.PartIdentity, "https://accounts.google.com"},
		"other digest":          {s.attest(t, by(repository, "another file")), "", provenance.PartDigest, "another file"},
		"other predicate":       {with(func(c *claim) { c.predicate = "https://spdx.dev/Document" }), "", provenance.PartPredicate, "https://spdx.dev/Document"},
		"untrusted root":        {stranger.attest(t, by(repository, "the plugin")), "", provenance.PartSignature, "verify"},
		"root that ended":       {good, s.trustedRoot(t, time.Now().Add(-time.Hour)), provenance.PartSignature, "certificate"},
		"the public root":       {good, "public", provenance.PartSignature, "verify"},
		"certificate too old":   {with(func(c *claim) { c.beforehand = time.Hour }), "", provenance.PartSignature, "certificate"},
		"not logged":            {with(func(c *claim) { c.unlogged = true }), "", provenance.PartSignature, "log"},
		"neither":               {with(func(c *claim) { c.unlogged, c.untimed = true, true }), "", provenance.PartSignature, "log"},
		"changed statement":     {tampered(t, good, "payload"), "", provenance.PartSignature, "verify"},
		"changed signature":     {tampered(t, good, "sig"), "", provenance.PartSignature, "verify"},
		"changed certificate":   {tampered(t, good, "rawBytes"), "", provenance.PartSignature, "certificate"},
		"changed log":           {tampered(t, good, "canonicalizedBody"), "", provenance.PartSignature, "log"},
		"garbage":               {[]byte("\x00\xff garbage"), "", provenance.PartBundle, "JSON"},
		"other JSON":            {[]byte(`{"bundle": 1}`), "", provenance.PartBundle, "no Sigstore bundle"},
		"cut off":               {good[:len(good)/2], "", provenance.PartBundle, "JSON"},
		"empty":                 {nil, "", provenance.PartBundle, "empty"},
		"a list":                {append([]byte("["), append(good, ']')...), "", provenance.PartBundle, "no Sigstore bundle"},
		"too many":              {bytes.Repeat([]byte("{}\n"), maxBundles+1), "", provenance.PartBundle, "more than"},
		"deeply nested":         {bytes.Repeat([]byte("["), 1<<20), "", provenance.PartBundle, "JSON"},
		"huge":                  {make([]byte, maxFile+1), "", provenance.PartBundle, "larger than"},
		"compressed to nothing": {snappy.Encode(nil, make([]byte, maxFile+1)), "", provenance.PartBundle, "JSON"},
	} {
		args := []string{"--repository", repository, "--digest", "sha256:" + digest("the plugin")}
		switch c.root {
		case "":
			args = append(args, "--trusted-root", trusted)
		case "public":
		default:
			args = append(args, "--trusted-root", c.root)
		}
		a := ask(t, append(args, file(t, "b.sigstore.json", c.data))...)
		if a.OK || a.Signer != nil || a.Part != c.part || !strings.Contains(a.Error, c.says) || a.File != "b.sigstore.json" {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"file"}, {"--digest", "sha256:" + digest("x")}, {"--digest", "sha256:12", "file"}, {"--digest", "md5:12", "file"},
		{"--digest", "sha256:" + digest("x"), "--trusted-root", "nowhere", "file"},
	} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: %d %q %q", args, code, out.String(), errs.String())
		}
	}
}
