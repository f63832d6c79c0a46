package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/github/internal/push"
	"github.com/collet-dev/collet/plugins/github/internal/tree"
	"github.com/collet-dev/collet/plugins/github/internal/truth"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// pushDirectory is the tool of this adapter's own; helpers are those of GitHub that it
// is made of.
const pushDirectory = "push_directory"

var helpers = []string{"push_files", "list_commits"}

type directory struct {
	Owner   string `json:"owner" jsonschema:"Repository owner"`
	Repo    string `json:"repo" jsonschema:"Repository name"`
	Branch  string `json:"branch" jsonschema:"Branch to push to"`
	Dir     string `json:"dir,omitempty" jsonschema:"Directory on this machine, relative to the one that may be read; all of that when left out"`
	Into    string `json:"into,omitempty" jsonschema:"Directory in the repository; its top when left out"`
	Message string `json:"message" jsonschema:"Commit message"`
}

// own makes the tools beside GitHub's.
func own(cfg config) func(mcpadapter.Caller) *adapter.Tools {
	if !cfg.pushes() {
		return nil
	}
	return func(up mcpadapter.Caller) *adapter.Tools {
		var tools adapter.Tools
		adapter.Add(&tools, pushDirectory, "Push the text files of a local directory to a GitHub repository, without passing them through the conversation. "+
			"Honours .gitignore; skips symbolic links and binaries and says so.",
			func(ctx context.Context, call *adapter.Call, in directory) (push.Report, error) {
				if err := cfg.rules().Admit(pushDirectory, call.Args); err != nil {
					return push.Report{}, err
				}
				return in.push(ctx, cfg, up, call)
			})
		return &tools
	}
}

func (in directory) push(ctx context.Context, cfg config, up mcpadapter.Caller, call *adapter.Call) (push.Report, error) {
	root, err := cfg.root()
	if err != nil {
		return push.Report{}, err
	}
	into := path.Clean(filepath.ToSlash(in.Into))
	if in.Into == "" || into == "." {
		into = ""
	} else if path.IsAbs(into) || into == ".." || strings.HasPrefix(into, "../") {
		return push.Report{}, invalid("/into", "directory", in.Into+" is no directory inside a repository")
	}
	files, err := tree.Open(ctx, root, in.Dir)
	if err != nil {
		return push.Report{}, err
	}
	defer files.Close()
	job := push.Job{
		To:   &branch{up: up, call: call, in: in},
		From: files, Into: into, Message: in.Message,
		Progress: func(done, total int) { call.Progress(float64(done), float64(total), "files pushed") },
		Pace:     push.Pace, Settle: push.Settle,
	}
	return job.Run(ctx)
}

// root is the directory that may be read.
func (c config) root() (string, error) {
	if c.Root != "" {
		return c.Root, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", failure.New(failure.InvalidArguments, failure.NotSent, "set root in the config of this server: %w", err)
	}
	home, _ := os.UserHomeDir()
	if dir == filepath.Dir(dir) || dir == home {
		return "", failure.New(failure.InvalidArguments, failure.NotSent,
			"set root in the config of this server to the directory that may be read: all of %s is too much", dir)
	}
	return dir, nil
}

// branch is a branch at GitHub, through the tools of its server.
type branch struct {
	up   mcpadapter.Caller
	call *adapter.Call
	in   directory
}

func (b *branch) Push(ctx context.Context, message string, files json.RawMessage) (string, error) {
	args, err := encode(map[string]any{"owner": b.in.Owner, "repo": b.in.Repo, "branch": b.in.Branch, "message": message})
	if err != nil {
		return "", err
	}
	res, err := b.up.CallUpstream(ctx, b.call, "push_files", mcpadapter.With(args, "files", files))
	if err != nil {
		return "", err
	}
	if res.IsError {
		return "", refused("push", mcpadapter.Text(res.JSON))
	}
	return gjson.GetBytes(res.JSON, "structuredContent.object.sha").Str, nil
}

func (b *branch) Head(ctx context.Context) ([]push.Commit, error) {
	args, err := encode(map[string]any{"owner": b.in.Owner, "repo": b.in.Repo, "sha": b.in.Branch, "perPage": 2})
	if err != nil {
		return nil, err
	}
	res, err := b.up.CallUpstream(ctx, b.call, "list_commits", args)
	if err != nil {
		return nil, err
	}
	text := mcpadapter.Text(res.JSON)
	if res.IsError {
		if truth.NoCommits(text) {
			return nil, nil
		}
		return nil, refused("look at the branch", text)
	}
	list := gjson.Parse(text)
	if !gjson.Valid(text) || !list.IsArray() {
		f := failure.New(failure.InvalidResult, failure.Answered, "GitHub answered list_commits with no list of commits")
		f.Origin = failure.OriginUpstream
		return nil, f
	}
	var commits []push.Commit
	list.ForEach(func(_, c gjson.Result) bool {
		commits = append(commits, push.Commit{SHA: c.Get("sha").Str, Message: c.Get("commit.message").Str})
		return true
	})
	return commits, nil
}

// encode writes arguments, with < > & as they are.
func encode(args map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(args)
	return bytes.TrimSpace(b.Bytes()), err
}

// refused is the answer of one of GitHub's tools that says no.
func refused(doing, text string) error {
	f := failure.New(failure.ServerError, failure.Answered, "%s: %s", doing, text)
	f.Origin = failure.OriginUpstream
	return f
}
