package fakegithub

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Git is what the fake stores: repositories by "owner/name".
type Git struct {
	repos sync.Map // of *repo
	User  string   // whose token it is; octo when empty
}

type repo struct {
	mu       sync.Mutex
	branches map[string][]commit // oldest first
}

type commit struct {
	sha, message string
	files        map[string]string // the whole tree
}

func (g *Git) repo(name string) *repo {
	r, _ := g.repos.LoadOrStore(name, &repo{branches: map[string][]commit{}})
	return r.(*repo)
}

// Files are the files of a branch by path.
func (g *Git) Files(name, branch string) map[string]string {
	r := g.repo(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.branches[branch]
	if len(all) == 0 {
		return map[string]string{}
	}
	return maps.Clone(all[len(all)-1].files)
}

// Messages are the messages of a branch's commits, the oldest first.
func (g *Git) Messages(name, branch string) (list []string) {
	r := g.repo(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.branches[branch] {
		list = append(list, c.message)
	}
	return list
}

// Commit adds a commit as somebody else would.
func (g *Git) Commit(name, branch, message string, files map[string]string) string {
	r := g.repo(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commit(branch, message, files)
}

func (r *repo) commit(branch, message string, files map[string]string) string {
	all := r.branches[branch]
	tree := map[string]string{}
	if len(all) > 0 {
		tree = maps.Clone(all[len(all)-1].files)
	}
	maps.Copy(tree, files)
	sum := sha1.Sum(fmt.Append(nil, branch, len(all), message, slices.Sorted(maps.Keys(tree))))
	c := commit{sha: hex.EncodeToString(sum[:]), message: message, files: tree}
	r.branches[branch] = append(all, c)
	return c.sha
}

type tool struct {
	name, set  string
	reads      bool
	headers    bool // owner and repo are repeated in headers
	definition string
	run        func(*Git, json.RawMessage) (string, error)
}

// icons stands for what the real server sends with each tool: more than half of the list.
const icons = `"icons":[{"mimeType":"image/png","src":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABgAAAAYCAYAAADgdz34","theme":"light"}]`

const ownerRepo = `"owner":{"description":"Repository owner","type":"string","x-mcp-header":"owner"},"repo":{"description":"Repository name","type":"string","x-mcp-header":"repo"}`

var tools = []tool{
	{
		name: "create_repository", set: "repos", run: (*Git).createRepository,
		definition: `{"annotations":{"destructiveHint":false,"idempotentHint":false,"readOnlyHint":false,"title":"Create repository"},"description":"Create a new GitHub repository in your account or specified organization",` + icons + `,"inputSchema":{"properties":{"autoInit":{"description":"Initialize with README","type":"boolean"},"description":{"description":"Repository description","type":"string"},"name":{"description":"Repository name","type":"string"},"organization":{"description":"Organization to create the repository in (omit to create in your personal account)","type":"string"},"private":{"default":true,"description":"Whether the repository should be private. Defaults to true (private) when omitted.","type":"boolean"}},"required":["name"],"type":"object"},"name":"create_repository"}`,
	},
	{
		name: "push_files", set: "repos", headers: true, run: (*Git).pushFiles,
		definition: `{"annotations":{"idempotentHint":false,"readOnlyHint":false,"title":"Push files to repository"},"description":"Push multiple files to a GitHub repository in a single commit",` + icons + `,"inputSchema":{"properties":{"branch":{"description":"Branch to push to","type":"string"},"files":{"description":"Array of file objects to push, each object with path (string) and content (string)","items":{"properties":{"content":{"description":"file content","type":"string"},"path":{"description":"path to the file","type":"string"}},"required":["path","content"],"type":"object"},"type":"array"},"message":{"description":"Commit message","type":"string"},` + ownerRepo + `},"required":["owner","repo","branch","files","message"],"type":"object"},"name":"push_files"}`,
	},
	{
		name: "list_commits", set: "repos", reads: true, headers: true, run: (*Git).listCommits,
		definition: `{"annotations":{"readOnlyHint":true,"title":"List commits"},"description":"Get list of commits of a branch in a GitHub repository. Returns at least 30 results per page by default, but can return more if specified using the perPage parameter (up to 100).",` + icons + `,"inputSchema":{"properties":{` + ownerRepo + `,"perPage":{"description":"Results per page for pagination (min 1, max 100)","maximum":100,"minimum":1,"type":"number"},"sha":{"description":"Commit SHA, branch or tag name to list commits of.","type":"string"}},"required":["owner","repo"],"type":"object"},"name":"list_commits"}`,
	},
	{
		name: "get_me", set: "context", reads: true,
		run:        func(g *Git, _ json.RawMessage) (string, error) { return `{"login":"` + g.user() + `"}`, nil },
		definition: `{"annotations":{"readOnlyHint":true,"title":"Get my user profile"},"description":"Get details of the authenticated GitHub user.",` + icons + `,"inputSchema":{"properties":{},"type":"object"},"name":"get_me"}`,
	},
	{
		name: "issue_write", set: "issues", headers: true, run: func(*Git, json.RawMessage) (string, error) { return `{}`, nil },
		definition: `{"description":"Create a new or update an existing issue in a GitHub repository.",` + icons + `,"inputSchema":{"properties":{` + ownerRepo + `},"required":["owner","repo"],"type":"object"},"name":"issue_write"}`,
	},
}

func (g *Git) user() string {
	if g.User == "" {
		return "octo"
	}
	return g.User
}

func (g *Git) createRepository(args json.RawMessage) (string, error) {
	var in struct{ Name, Organization string }
	_ = json.Unmarshal(args, &in)
	owner, at := g.user(), "user/repos"
	if in.Organization != "" {
		owner, at = in.Organization, "orgs/"+in.Organization+"/repos"
	}
	if in.Name == "" {
		return "", errors.New("missing required parameter: name")
	}
	if _, there := g.repos.Load(owner + "/" + in.Name); there {
		return "", fmt.Errorf("failed to create repository: POST https://api.github.com/%s: 422 Repository creation failed. [{Resource:Repository Field:name Code:custom Message:name already exists on this account}]", at)
	}
	g.repo(owner + "/" + in.Name)
	return `{"id":"1000","url":"https://github.com/` + owner + `/` + in.Name + `"}`, nil
}

func (g *Git) pushFiles(args json.RawMessage) (string, error) {
	var in struct {
		Owner, Repo, Branch, Message string
		Files                        []struct{ Path, Content string }
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return "", err
	}
	files := map[string]string{}
	for _, f := range in.Files {
		files[f.Path] = f.Content
	}
	r := g.repo(in.Owner + "/" + in.Repo)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.branches) == 0 { // the real one needs a first commit to build on
		r.commit(in.Branch, "Initial commit", map[string]string{"README.md": ""})
	}
	sha := r.commit(in.Branch, in.Message, files)
	return fmt.Sprintf(`{"ref":"refs/heads/%s","url":"https://api.github.com/repos/%s/%s/git/refs/heads/%[1]s","object":{"type":"commit","sha":"%[4]s"}}`, in.Branch, in.Owner, in.Repo, sha), nil
}

func (g *Git) listCommits(args json.RawMessage) (string, error) {
	var in struct {
		Owner, Repo, SHA string
		PerPage          float64
	}
	_ = json.Unmarshal(args, &in)
	url := "failed to list commits: GET https://api.github.com/repos/" + in.Owner + "/" + in.Repo + "/commits: "
	r := g.repo(in.Owner + "/" + in.Repo)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.branches) == 0 {
		return "", errors.New(url + "409 Git Repository is empty. []")
	}
	all := r.branches[in.SHA]
	if len(all) == 0 {
		return "", errors.New(url + "404 Not Found []")
	}
	type details struct {
		Message string `json:"message"`
	}
	type minimal struct {
		SHA    string  `json:"sha"`
		Commit details `json:"commit"`
	}
	list := []minimal{}
	for _, c := range slices.Backward(all) {
		if len(list) == int(in.PerPage) {
			break
		}
		list = append(list, minimal{c.sha, details{c.message}})
	}
	b, err := json.Marshal(list)
	return string(b), err
}
