// Package reach decides what an adapter for GitHub may touch: which tools only
// read, which repositories may be written to. It sends nothing and asks nobody.
package reach

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// reads are the tools of github-mcp-server that change nothing. All others count
// as writing: a name that is not here may be anything.
var reads = []string{
	"actions_get", "actions_list", "download_workflow_run_artifact", "get_code_quality_finding", "get_code_scanning_alert", "get_commit",
	"get_copilot_space", "get_dependabot_alert", "get_discussion", "get_discussion_comments", "get_file_blame", "get_file_contents",
	"get_gist", "get_global_security_advisory", "get_job_logs", "get_label", "get_latest_release", "get_me", "get_notification_details",
	"get_release_by_tag", "get_repository_tree", "get_secret_scanning_alert", "get_tag", "get_team_members", "get_teams",
	"github_support_docs_search", "issue_read", "list_branches", "list_code_scanning_alerts", "list_commits", "list_copilot_spaces",
	"list_dependabot_alerts", "list_discussion_categories", "list_discussions", "list_gists", "list_global_security_advisories",
	"list_issue_types", "list_issues", "list_label", "list_notifications", "list_org_repository_security_advisories",
	"list_pull_requests", "list_releases", "list_repository_collaborators", "list_repository_security_advisories",
	"list_secret_scanning_alerts", "list_starred_repositories", "list_tags", "projects_get", "projects_list", "pull_request_read",
	"search_code", "search_commits", "search_issues", "search_orgs", "search_pull_requests", "search_repositories", "search_users",
}

// Reads says whether a tool is known to change nothing.
func Reads(tool string) bool { return slices.Contains(reads, tool) }

// Self is the owner that stands for the token's own account where a tool is not told
// another one.
const Self = "@me"

// Rules are what one server may do. The zero value allows everything.
type Rules struct {
	// ReadOnly refuses every tool that is not known to read.
	ReadOnly bool
	// Writable are the repositories that may be written to: "owner", "owner/repo",
	// with * in the part behind the slash. Empty is all.
	Writable []string
}

// Check says what is wrong with the patterns: "" is nothing.
func (r Rules) Check() string {
	for _, p := range r.Writable {
		owner, repo, slash := strings.Cut(p, "/")
		_, err := path.Match(repo, "")
		if owner == "" || strings.ContainsAny(owner, "*?[") || slash && repo == "" || strings.Contains(repo, "/") || err != nil {
			return p + `: not "owner" or "owner/repository", where * may stand in the repository`
		}
	}
	return ""
}

// Admit refuses a call that the rules do not allow. The error is a failure that was
// not sent.
func (r Rules) Admit(tool string, args json.RawMessage) error {
	if Reads(tool) {
		return nil
	}
	if r.ReadOnly {
		return failure.New(failure.NotFound, failure.NotSent, "%s is not offered: it may change something, and readonly is set for this server", tool)
	}
	if len(r.Writable) == 0 {
		return nil
	}
	owner, repo := target(tool, args)
	if owner == "" || repo == "" {
		return failure.New(failure.InvalidArguments, failure.NotSent,
			"%s names no repository in owner and repo, and only some may be written to (writable in the config of this server)", tool)
	}
	if !plain(owner) || !plain(repo) {
		f := failure.New(failure.InvalidArguments, failure.NotSent,
			"%q and %q are not the names of an owner and a repository, and only some may be written to (writable in the config of this server)", owner, repo)
		f.Problems = []failure.Problem{{Path: "/repo", Rule: "writable", Message: f.Message}}
		return f
	}
	if r.allows(owner, repo) {
		return nil
	}
	f := failure.New(failure.InvalidArguments, failure.NotSent,
		"%s/%s is not among the repositories that may be written to (writable in the config of this server)", owner, repo)
	f.Problems = []failure.Problem{{Path: "/owner", Rule: "writable", Message: f.Message}}
	return f
}

func (r Rules) allows(owner, repo string) bool {
	return slices.ContainsFunc(r.Writable, func(p string) bool {
		o, pattern, slash := strings.Cut(strings.ToLower(p), "/")
		if o != strings.ToLower(owner) {
			return false
		}
		ok, _ := path.Match(pattern, strings.ToLower(repo))
		return !slash || ok
	})
}

// plain says whether a name is one as GitHub has them. The server makes addresses of
// them unescaped: a repository "../other/x" of an owner would be another owner's.
func plain(name string) bool {
	if name == Self {
		return true
	}
	return name != "." && name != ".." && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("._-", c)
	})
}

// target is the repository that a call writes to.
func target(tool string, args json.RawMessage) (owner, repo string) {
	switch owner = gjson.GetBytes(args, "organization").String(); tool {
	case "create_repository":
		return cmp.Or(owner, Self), gjson.GetBytes(args, "name").String()
	case "fork_repository": // of whoever it is, the copy is one's own
		return cmp.Or(owner, Self), gjson.GetBytes(args, "repo").String()
	}
	return gjson.GetBytes(args, "owner").String(), gjson.GetBytes(args, "repo").String()
}
