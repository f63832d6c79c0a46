// Package push sends a directory in as many commits as its size needs. A push whose
// answer was lost is never repeated before the branch says that it did not happen.
package push

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/collet-dev/collet/plugins/github/internal/tree"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// maxBatch bounds the files of one push as JSON, in bytes: over 5 MiB of a request
	// the server closes the connection, and a proxy on the way may be stricter.
	maxBatch = 3<<20 + 512<<10
	// maxCount bounds the files of one push: each costs GitHub a blob.
	maxCount = 500
	// Pace is the least time between two commits: GitHub counts writes that come faster
	// as abuse.
	Pace = time.Second
	// Settle is how long a push whose answer was lost is given to arrive after all.
	Settle = 3 * time.Second
	// maxShown bounds the skipped files that a report names.
	maxShown = 200
	// maxNamed bounds the files that a warning names.
	maxNamed = 10
)

// Commit is a commit of a branch.
type Commit struct {
	SHA     string
	Message string
}

// Repository is one branch of one repository.
type Repository interface {
	// Push makes one commit of files, a JSON array of {path, content}. An error whose
	// delivery is unknown leaves open whether it did.
	Push(ctx context.Context, message string, files json.RawMessage) (sha string, err error)
	// Head returns the newest commits, the last one first: two if there are so many,
	// none where the branch does not exist.
	Head(ctx context.Context) ([]Commit, error)
}

// Pushed is one commit that was made.
type Pushed struct {
	SHA   string `json:"sha"`
	Files int    `json:"files"`
}

// Report is what became of a directory.
type Report struct {
	Pushed  int            `json:"pushed" jsonschema:"files that are in the repository now"`
	Commits []Pushed       `json:"commits"`
	Skipped []tree.Skipped `json:"skipped" jsonschema:"files that were not pushed, and why; what .gitignore leaves out is not among them"`
	More    int            `json:"skipped_more,omitempty" jsonschema:"how many more were skipped"`
	Ignored int            `json:"ignored" jsonschema:"files and directories that .gitignore leaves out"`
	// Warnings are about what is in the repository, but not quite as it is on disk.
	Warnings []string `json:"warnings,omitempty"`
}

// Job is one directory to push.
type Job struct {
	To      Repository
	From    *tree.Tree
	Into    string // directory in the repository; "" is its top
	Message string
	// Progress hears of files done; nil hears nothing.
	Progress     func(done, total int)
	Pace, Settle time.Duration
}

// batch is the files of one commit.
type batch struct {
	files json.RawMessage
	count int
}

// Run pushes. The error is a failure; of an interrupted push it says how far it came.
func (j *Job) Run(ctx context.Context) (Report, error) {
	rep := Report{Ignored: j.From.Ignored}
	total := j.batches(func(batch) error { return nil }) // counts, and finds what is skipped
	count := total.commits
	if total.files == 0 {
		return rep, failure.New(failure.InvalidArguments, failure.NotSent,
			"there is nothing to push: %d files were skipped and %d ignored%s", len(j.From.Skipped), j.From.Ignored, first(j.From.Skipped))
	}
	j.From.Skipped = j.From.Skipped[:total.listed]
	head, err := j.To.Head(ctx)
	if err != nil {
		return rep, err
	}
	before := ""
	if len(head) > 0 {
		before = head[0].SHA
	}
	done := j.batches(func(b batch) error {
		if len(rep.Commits) > 0 {
			if err := sleep(ctx, j.Pace); err != nil {
				return err
			}
		}
		message := j.Message
		if count > 1 {
			message = fmt.Sprintf("%s (%d/%d)", j.Message, len(rep.Commits)+1, count)
		}
		sha, err := j.commit(ctx, before, message, b.files)
		if err != nil {
			return err
		}
		before = sha
		rep.Commits = append(rep.Commits, Pushed{sha, b.count})
		rep.Pushed += b.count
		if j.Progress != nil {
			j.Progress(rep.Pushed, total.files)
		}
		return nil
	})
	rep.Skipped = j.From.Skipped
	if n := len(rep.Skipped); n > maxShown {
		rep.Skipped, rep.More = rep.Skipped[:maxShown], n-maxShown
	}
	if done.err != nil {
		return rep, partial(rep, total.files, done.err)
	}
	if lost := j.From.Executable(); len(lost) > 0 {
		rep.Warnings = append(rep.Warnings, executable(lost))
	}
	return rep, nil
}

// executable says which files are not executable any more: a push makes every file a
// plain one.
func executable(lost []string) string {
	named, more := lost[:min(len(lost), maxNamed)], ""
	if n := len(lost) - len(named); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("not executable in the repository, since GitHub's push_files has no room for that: %s%s; git update-index --chmod=+x in a clone sets it",
		strings.Join(named, ", "), more)
}

// tally is what batches came to.
type tally struct {
	files, commits int
	listed         int // skipped before anything was read
	err            error
}

// batches reads the files and hands them on in parts that fit into a push.
func (j *Job) batches(each func(batch) error) (t tally) {
	t.listed = len(j.From.Skipped)
	var b []byte
	n := 0
	flush := func() bool {
		if n == 0 {
			return true
		}
		t.commits++
		t.files += n
		t.err = each(batch{append(b, ']'), n})
		b, n = nil, 0
		return t.err == nil
	}
	for _, name := range j.From.Files {
		content, ok := j.From.Read(name)
		if !ok {
			continue
		}
		one := entry(path.Join(j.Into, name), content)
		if len(one) > maxBatch {
			j.From.Leave(name, "too large as JSON for one push")
			continue
		}
		if (len(b)+len(one)+2 > maxBatch || n == maxCount) && !flush() {
			return t
		}
		if n == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b = append(b, one...)
		n++
	}
	flush()
	return t
}

// entry is one file as push_files takes it.
func entry(name, content string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct { // strings always encode
		Path    string `json:"path"`
		Content string `json:"content"`
	}{name, content})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// commit pushes once, and once more only if the first push is known to have done
// nothing.
func (j *Job) commit(ctx context.Context, before, message string, files json.RawMessage) (string, error) {
	sha, err := j.To.Push(ctx, message, files)
	if !lost(err) {
		return sha, err
	}
	if sha, found, checkErr := j.find(ctx, before, message); checkErr != nil || found {
		return sha, checkErr
	}
	if sha, err = j.To.Push(ctx, message, files); !lost(err) {
		return sha, err
	}
	sha, found, checkErr := j.find(ctx, before, message)
	if checkErr != nil || found {
		return sha, checkErr
	}
	return "", err
}

func lost(err error) bool {
	return err != nil && failure.Classify(err).Delivery == failure.DeliveryUnknown
}

// find looks for a commit whose push was not answered. When the branch is where it
// was, there is none; when it is elsewhere for another reason, nobody can tell.
func (j *Job) find(ctx context.Context, before, message string) (sha string, found bool, err error) {
	if err := sleep(ctx, j.Settle); err != nil {
		return "", false, err
	}
	head, err := j.To.Head(ctx)
	if err != nil {
		f := *failure.Classify(err)
		f.Delivery = failure.DeliveryUnknown
		f.Message = "the answer to a push was lost, and whether it arrived cannot be found out: " + f.Message
		return "", false, &f
	}
	switch {
	case len(head) == 0 && before == "", len(head) > 0 && head[0].SHA == before:
		return "", false, nil
	case len(head) > 0 && head[0].Message == message && (before == "" || len(head) > 1 && head[1].SHA == before):
		return head[0].SHA, true, nil
	}
	return "", false, failure.New(failure.ServerError, failure.DeliveryUnknown,
		"the answer to a push was lost, and the branch has moved since; look at it before you push again")
}

// partial says how far an interrupted push came.
func partial(rep Report, total int, err error) error {
	if rep.Pushed == 0 {
		return err
	}
	f := *failure.Classify(err)
	f.Delivery = failure.Answered
	if lost(err) {
		f.Delivery = failure.DeliveryUnknown
	}
	f.Message = fmt.Sprintf("%d of %d files are pushed, the last commit is %s; then: %s; pushing again starts over, and does no harm",
		rep.Pushed, total, rep.Commits[len(rep.Commits)-1].SHA, f.Message)
	return &f
}

// first is the first skipped file as an example.
func first(skipped []tree.Skipped) string {
	if len(skipped) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", skipped[0].Path, skipped[0].Reason)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
