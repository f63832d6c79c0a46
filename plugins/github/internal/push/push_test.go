package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/plugins/github/internal/tree"
	"github.com/collet-dev/collet/sdk/failure"
)

// memory is a branch. Each push and head may be made to go wrong first.
type memory struct {
	commits []Commit // oldest first
	files   map[string]string
	sizes   []int
	pushes  int
	// onPush says of the n-th push (from 1) whether it happens and how it ends.
	onPush func(n int) (happens bool, err error)
	onHead func() error
}

func (m *memory) Push(_ context.Context, message string, files json.RawMessage) (string, error) {
	m.pushes++
	happens, err := true, error(nil)
	if m.onPush != nil {
		happens, err = m.onPush(m.pushes)
	}
	if happens {
		m.add(message)
		var list []struct{ Path, Content string }
		if err := json.Unmarshal(files, &list); err != nil {
			return "", err
		}
		for _, f := range list {
			if m.files == nil {
				m.files = map[string]string{}
			}
			m.files[f.Path] = f.Content
		}
		m.sizes = append(m.sizes, len(files))
	}
	if err != nil {
		return "", err
	}
	return m.commits[len(m.commits)-1].SHA, nil
}

func (m *memory) add(message string) {
	m.commits = append(m.commits, Commit{fmt.Sprint("sha", len(m.commits)), message})
}

func (m *memory) Head(context.Context) (list []Commit, err error) {
	if m.onHead != nil {
		if err := m.onHead(); err != nil {
			return nil, err
		}
	}
	for _, c := range slices.Backward(m.commits) {
		if len(list) < 2 {
			list = append(list, c)
		}
	}
	return list, nil
}

// three is a job of three commits: files of a little over half of a batch.
func three(t *testing.T, m *memory) *Job {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name, maxBatch/2+100)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return jobOf(t, m, dir)
}

func jobOf(t *testing.T, m *memory, dir string) *Job {
	t.Helper()
	files, err := tree.Open(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(files.Close)
	return &Job{To: m, From: files, Message: "m"}
}

var errLost = failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "the connection broke")

func TestBatches(t *testing.T) {
	m := &memory{}
	m.add("before")
	rep, err := three(t, m).Run(t.Context())
	if err != nil || rep.Pushed != 3 || len(rep.Commits) != 3 || m.commits[1].Message != "m (1/3)" || m.commits[3].Message != "m (3/3)" {
		t.Fatalf("%+v, %v; commits %v", rep, err, m.commits)
	}
	for _, size := range m.sizes {
		if size > maxBatch {
			t.Errorf("a push of %d bytes", size)
		}
	}
}

// What becomes of a push whose answer was lost depends on what the branch says.
func TestLostPush(t *testing.T) {
	for name, test := range map[string]struct {
		empty    bool // the branch does not exist before
		onPush   func(m *memory, n int) (bool, error)
		pushes   int
		commits  int // of ours
		delivery failure.Delivery
		fails    bool
	}{
		"it arrived": {pushes: 3, commits: 3, onPush: func(_ *memory, n int) (bool, error) {
			if n == 2 {
				return true, errLost
			}
			return true, nil
		}},
		"the first one arrived in an empty repository": {empty: true, pushes: 3, commits: 3, onPush: func(_ *memory, n int) (bool, error) {
			if n == 1 {
				return true, errLost
			}
			return true, nil
		}},
		"it did not arrive, and is sent again": {pushes: 4, commits: 3, onPush: func(_ *memory, n int) (bool, error) {
			if n == 2 {
				return false, errLost
			}
			return true, nil
		}},
		"it never arrives: not a third time": {pushes: 3, commits: 1, fails: true, onPush: func(_ *memory, n int) (bool, error) {
			if n > 1 {
				return false, errLost
			}
			return true, nil
		}},
		"sent again, it arrives unanswered": {pushes: 4, commits: 3, onPush: func(_ *memory, n int) (bool, error) {
			switch n {
			case 2:
				return false, errLost
			case 3:
				return true, errLost
			}
			return true, nil
		}},
		"somebody else pushed meanwhile": {pushes: 2, commits: 1, fails: true, onPush: func(m *memory, n int) (bool, error) {
			if n == 2 {
				m.add("theirs")
				return false, errLost
			}
			return true, nil
		}},
		"somebody else pushed on top of it": {pushes: 2, commits: 2, fails: true, onPush: func(m *memory, n int) (bool, error) {
			if n == 2 {
				m.add("m (2/3)")
				m.add("theirs")
				return false, errLost
			}
			return true, nil
		}},
		"it was refused": {pushes: 2, commits: 1, fails: true, delivery: failure.Answered, onPush: func(_ *memory, n int) (bool, error) {
			if n == 2 {
				return false, failure.New(failure.RateLimited, failure.Answered, "limit")
			}
			return true, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			if !test.empty {
				m.add("before")
			}
			m.onPush = func(n int) (bool, error) { return test.onPush(m, n) }
			rep, err := three(t, m).Run(t.Context())
			if (err != nil) != test.fails || m.pushes != test.pushes {
				t.Fatalf("%+v, %v after %d pushes, want %d", rep, err, m.pushes, test.pushes)
			}
			ours := 0
			for _, c := range m.commits {
				if strings.HasPrefix(c.Message, "m (") {
					ours++
				}
			}
			if ours != test.commits {
				t.Errorf("commits %v, want %d of ours", m.commits, test.commits)
			}
			if !test.fails {
				if rep.Pushed != 3 || len(m.files) != 3 {
					t.Errorf("%d pushed, %d there", rep.Pushed, len(m.files))
				}
				return
			}
			f := failure.Classify(err)
			if f.Delivery != test.delivery || !strings.Contains(f.Message, "1 of 3 files are pushed, the last commit is sha1") {
				t.Errorf("%s: %s", f.Delivery, f.Message)
			}
		})
	}
}

// A branch that cannot be asked leaves the loss unsettled: nothing is repeated.
func TestLostPushUnsettled(t *testing.T) {
	m := &memory{}
	asked := 0
	m.onHead = func() error {
		if asked++; asked > 1 {
			return errors.New("no answer")
		}
		return nil
	}
	m.onPush = func(int) (bool, error) { return false, errLost }
	_, err := three(t, m).Run(t.Context())
	if f := failure.Classify(err); f.Delivery != failure.DeliveryUnknown || m.pushes != 1 {
		t.Errorf("%v (%s) after %d pushes", err, f.Delivery, m.pushes)
	}
}

func TestNothingToPush(t *testing.T) {
	dir := t.TempDir()
	m := &memory{}
	if err := os.WriteFile(filepath.Join(dir, "bin"), []byte{0xff}, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := jobOf(t, m, dir).Run(t.Context())
	if f := failure.Classify(err); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "bin: binary") || m.pushes > 0 {
		t.Errorf("%v after %d pushes", err, m.pushes)
	}
}
