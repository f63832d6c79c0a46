package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// Eras and versions are found out as over stdio, whatever the status codes.
func TestHandshakeOverHTTP(t *testing.T) {
	for _, test := range []struct {
		fault, version string // version "" is a failure
		class          failure.Class
		delivery       failure.Delivery
		part           string
		initializes    int
	}{
		{fault: "version-old", version: "2024-11-05", initializes: 1},
		{fault: "modern,discover-silent", version: "2025-11-25", initializes: 1},
		{fault: "modern,discover-old", version: "2025-11-25", initializes: 1},
		{fault: "modern,discover-slow", version: "2026-07-28"},
		{fault: "initslow", version: "2025-11-25", initializes: 1},
		{"version-future", "", failure.InvalidResult, failure.Answered, "2027-01-01", 1},
		{"version-bad", "", failure.InvalidResult, failure.Answered, "latest", 1},
		{"version-number", "", failure.InvalidResult, failure.Answered, "20250618", 1},
		{"discover-future", "", failure.InvalidResult, failure.Answered, "2099-01-01", 0},
		{"discover-refused", "", failure.InvalidResult, failure.Answered, "2099-01-01", 0},
		{"init-error", "", failure.ServerError, failure.Answered, "no licence", 1},
		{"initnever", "", failure.Timeout, failure.NotSent, "in time", 1},
		{"modern,429-plain", "2026-07-28", 0, 0, "", 0}, // which is about calls alone
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			w := serve(t, test.fault, "-delay", "100ms")
			limit := deadline
			if test.fault == "initnever" {
				limit = 500 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c, err := Dial(ctx, Endpoint{URL: w.url}, Options{ProbeTimeout: time.Second})
			switch {
			case test.version == "" && err == nil:
				t.Errorf("connected: %+v", c.Server())
			case test.version == "":
				f := asFailure(t, err)
				wantFailure(t, f, test.class, test.delivery, test.part, "connect to "+strings.TrimSuffix(w.url, "/"))
			case err != nil:
				t.Error(err)
			case c.Server().ProtocolVersion != test.version:
				t.Errorf("version %s, want %s", c.Server().ProtocolVersion, test.version)
			}
			if c != nil {
				if err := c.Close(within(t)); err != nil {
					t.Error(err)
				}
			}
			if n := w.times(t, "POST", "initialize"); n != test.initializes {
				t.Errorf("%d times initialized, want %d", n, test.initializes)
			}
		})
	}
	t.Run("known to be old, and is not", func(t *testing.T) {
		c := dial(t, Endpoint{URL: serve(t, "modern-only").url}, Options{SkipProbe: true})
		if !c.Server().Modern {
			t.Errorf("server %+v", c.Server())
		}
	})
}
