package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/statedir"
)

const (
	// refreshAfter is the age from which what servers said is asked for again behind.
	refreshAfter = time.Minute
	// behindWait bounds a refresh that nobody waits for.
	behindWait = time.Minute
)

// oldest is the time of the oldest part of a listing that comes from an earlier
// host; zero when there is none. What is of the future may be of any age, and is taken
// for the oldest.
func oldest(list *host.Listing) time.Time {
	var at time.Time
	for i := range list.Servers {
		switch asked := list.Servers[i].Asked; {
		case asked.IsZero():
		case ageUnknown(asked):
			return asked
		case at.IsZero() || asked.Before(at):
			at = asked
		}
	}
	return at
}

// ageUnknown: the clock was wrong at that time, or is now.
func ageUnknown(at time.Time) bool { return time.Since(at) < 0 }

// isYoung reports whether what was asked for then need not be asked for again.
func isYoung(at time.Time) bool { return !ageUnknown(at) && time.Since(at) < refreshAfter }

// maxNamed is how many servers a line names.
const maxNamed = 5

// tellStale says on stderr which servers of a listing were not asked for it.
func tellStale(s *terminal.Streams, list *host.Listing) {
	var names []string
	for i := range list.Servers {
		if !list.Servers[i].Asked.IsZero() {
			names = append(names, list.Servers[i].Name)
		}
	}
	if names == nil {
		return
	}
	at := oldest(list)
	who := strings.Join(names, ", ")
	if len(names) > maxNamed {
		who = strings.Join(names[:maxNamed], ", ") + " and others"
	}
	switch {
	case len(names) == 1:
		tellStaleServer(s, who, at)
	case len(names) == len(list.Servers):
		s.Note("collet: tool lists are %s; use --refresh to ask again", ageText(at, "up to "))
	default:
		s.Note("collet: tool lists of %s are %s; use --refresh to ask again", who, ageText(at, "up to "))
	}
}

// tellStaleServer says that one server was not asked.
func tellStaleServer(s *terminal.Streams, server string, at time.Time) {
	s.Note("collet: tool list of %s is %s; use --refresh to ask again", server, ageText(at, ""))
}

// ageText is how old that is, or the oldest of it with upTo.
func ageText(at time.Time, upTo string) string {
	if ageUnknown(at) {
		return "of unknown age"
	}
	return upTo + host.Age(at) + " old"
}

// addAsked adds when a server was asked, if that is known and was another host.
func addAsked(o *rawjson.Object, at time.Time) {
	if !at.IsZero() && !ageUnknown(at) {
		o.String("asked", at.UTC().Format(time.RFC3339))
	}
}

// withStale adds to the answer of a search which servers were not asked for it.
func withStale(found []byte, list *host.Listing) []byte {
	var stale [][]byte
	for i := range list.Servers {
		if at := list.Servers[i].Asked; !at.IsZero() {
			var o rawjson.Object
			o.String("server", list.Servers[i].Name)
			addAsked(&o, at)
			stale = append(stale, o.Bytes())
		}
	}
	if stale == nil || len(found) == 0 || found[len(found)-1] != '}' {
		return found
	}
	out := append(slices.Clone(found[:len(found)-1]), `,"stale":`...)
	return append(append(out, rawjson.Array(stale)...), '}')
}

// refreshBehind has the servers of a pattern asked again by a process of its own,
// when what was shown of them is older than refreshAfter: this one ends with its
// answer. One such process a minute and question is enough, whoever wants it. It ends
// by itself, and that it cannot be started is no fault of the answer.
func (f *Factory) refreshBehind(pattern string, oldest time.Time) {
	if oldest.IsZero() || isYoung(oldest) {
		return
	}
	exe, err := os.Executable()
	if err != nil || !f.refreshDue(pattern) {
		return
	}
	args := []string{"tools", "list", "--refresh", "--json", "--wait", behindWait.String()}
	if file := f.named(); file != "" {
		args = append(args, "--config", file)
	}
	if pattern != "" {
		args = append(args, "--", pattern)
	}
	_, _ = startDetached(exe, "", args)
}

// refreshDue reports whether no other process has seen to it within refreshAfter,
// and notes that this one does.
func (f *Factory) refreshDue(pattern string) bool {
	root, err := statedir.Open(filepath.Join(xdg.StateHome, "collet", "snapshots"), false)
	if err != nil {
		return false
	}
	defer root.Close()
	dir, _ := os.Getwd() // decides which project's file counts
	sum := sha256.Sum256([]byte(strings.Join([]string{f.named(), dir, pattern}, "\x00")))
	stamp := "refresh-" + hex.EncodeToString(sum[:8]) + ".part" // removed with what was abandoned
	if info, err := root.Stat(stamp); err == nil && isYoung(info.ModTime()) {
		return false
	}
	_ = root.Remove(stamp)
	file, err := root.OpenFile(stamp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false // another one was faster
	}
	return file.Close() == nil
}
