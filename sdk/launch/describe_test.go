package launch

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

func TestDescribe(t *testing.T) {
	d, err := Describe(t.Context(), faulty, []string{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "test" || d.Version != "1.2.3" || d.DefaultTimeout != time.Minute || !slices.Equal(d.Environment, []string{"TEST_TOKEN"}) ||
		string(d.ConfigSchema) != `{"type":"object","x":9007199254740993}` {
		t.Errorf("%+v", d)
	}
}

func TestDescribeFailures(t *testing.T) {
	notExecutable := t.TempDir() + "/plugin"
	if err := os.WriteFile(notExecutable, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, fault string
		class       failure.Class
		says        string
	}{
		{faulty, "describejunk", failure.InvalidResult, "Usage: testadapter"},
		{faulty, "describehuge", failure.InvalidResult, "1048576 bytes"},
		{faulty, "describefail", failure.ConnectionRefused, "no describe here"},
		{"/nowhere/plugin", "", failure.ConnectionRefused, "no such file"},
		{notExecutable, "", failure.ConnectionRefused, "not executable"},
	} {
		t.Run(test.fault+test.says, func(t *testing.T) {
			_, err := Describe(t.Context(), test.path, []string{"FAULT=" + test.fault})
			var f *failure.Failure
			if !errors.As(err, &f) || f.Class != test.class || f.Delivery != failure.NotSent || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A description that never comes is given up with all that it started.
func TestDescribeIsBounded(t *testing.T) {
	before := processes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // time enough to say a word on stderr
	defer cancel()
	_, err := Describe(ctx, faulty, append(ShortEnv(os.Environ()), "FAULT=describehang"))
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != failure.Timeout {
		t.Fatalf("got %v", err)
	}
	_, pid, _ := strings.Cut(err.Error(), "grandchild ")
	if n, parseErr := strconv.Atoi(strings.TrimSpace(pid)); parseErr != nil {
		t.Errorf("no stderr in %v", err)
	} else if alive(n) {
		t.Error("the grandchild lives")
	}
	if left := processes(t); len(left) > len(before) {
		t.Errorf("processes left: %v", left)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := Describe(ctx, faulty, nil); !errors.As(err, &f) || f.Class != failure.Canceled {
		t.Errorf("canceled: %v", err)
	}
}
