package lockfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*retry)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a lock that is held: %v", err)
	}
	time.AfterFunc(2*retry, unlock)
	again, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // as whoever tidies up does
		t.Errorf("the lock of its holder: %v", err)
	}
	again()
	if _, err := Lock(t.Context(), filepath.Join(path, "x.lock")); err == nil {
		t.Error("a lock below a file")
	}
}
