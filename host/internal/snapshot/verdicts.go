package snapshot

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/collet-dev/collet/host/internal/statedir"
)

// Verdicts say of each tool of a snapshot, in its order, why its arguments are not
// validated: "" when they are, nil when nobody has looked.
type Verdicts []*string

// Of is the verdict on the i-th tool; nil when there is none.
func (v Verdicts) Of(i int) *string {
	if i < len(v) {
		return v[i]
	}
	return nil
}

// verdictsBody is a file of verdicts. It counts only beside the snapshot that it was
// made of, and under the same rules.
type verdictsBody struct {
	Of    string   `json:"of"` // Snapshot.Sum
	Rules string   `json:"rules"`
	Tools Verdicts `json:"tools"`
}

// Verdicts returns what was found about the tools of k's snapshot with that sum, by the
// rules that rules stands for; nil when nothing was, or it cannot be used: whoever asks
// can find out.
func (s *Store) Verdicts(k Key, sum, rules string) Verdicts {
	root, err := statedir.Open(s.Dir, false)
	if err != nil {
		return nil
	}
	defer root.Close()
	data, _, err := s.load(root, k.verdictsFile())
	if err != nil {
		return nil
	}
	v := decodeBeside[verdictsBody](data)
	if v == nil || v.Of != sum || v.Rules != rules {
		return nil
	}
	return v.Tools
}

// KeepVerdicts keeps v beside the snapshot of k that it is about. When there is none
// any more, nothing is kept.
func (s *Store) KeepVerdicts(k Key, sum, rules string, v Verdicts) error {
	err := s.keepVerdicts(k, verdictsBody{Of: sum, Rules: rules, Tools: v})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep in %s which schemas of %s are checked: %w", s.Dir, k.Server, err)
	}
	return nil
}

func (s *Store) keepVerdicts(k Key, body verdictsBody) error {
	root, err := statedir.Open(s.Dir, false)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(k.file()); err != nil {
		return err
	}
	return replaceBeside(root, k.verdictsFile(), body)
}

func (k Key) verdictsFile() string { return k.file() + verdicts }
