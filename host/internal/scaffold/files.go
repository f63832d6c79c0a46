package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"
)

// The directory common goes into every project, and one other beside it. NAME in a
// file's name is the plugin's, .tmpl is cut off: without it the go command would
// take the files for its own.
//
//go:embed all:templates
var templates embed.FS

// dirs are the template directories of each kind.
var dirs = map[Kind][]string{
	Tools:   {"common", "tools"},
	URL:     {"common", "mcp", "url"},
	Command: {"common", "mcp", "command"},
	Hook:    {"common", "hook"},
}

// File is one file of a project.
type File struct {
	Path string // with slashes, relative to the project
	Data []byte
}

// Files are the files of the project, sorted by their paths.
func (p *Plan) Files() ([]File, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var files []File
	for _, dir := range dirs[p.Kind] {
		root := path.Join("templates", dir)
		err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := p.render(name)
			if err != nil {
				return err
			}
			name = strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), ".tmpl")
			files = append(files, File{strings.ReplaceAll(name, "NAME", p.Name), data})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	module, err := p.module()
	if err != nil {
		return nil, err
	}
	files = append(files, module...)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// render fills in one template. Its marks are [[ and ]]: those of Go are
// goreleaser's and GitHub's, too.
func (p *Plan) render(name string) ([]byte, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"quote": func(s string) string { return fmt.Sprintf("%q", s) },
		"words": words,
	}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	if strings.HasSuffix(name, ".go.tmpl") {
		// What is filled in decides on columns.
		return format.Source(b.Bytes())
	}
	return b.Bytes(), nil
}

// SDKModule is the SDK's, for templates.
func (p *Plan) SDKModule() string { return SDKModule }

// Variable is what a variable with the server's token could be called.
func (p *Plan) Variable() string {
	return strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_")) + "_TOKEN"
}

// VerifyFlags are what verify has to be told of the plugin, as make has it.
func (p *Plan) VerifyFlags() string {
	if p.Kind == URL {
		return ` --config '{"url":"$${UPSTREAM}"}'`
	}
	return ""
}

// words is a Go expression of a list of strings.
func words(list []string) string {
	if len(list) == 0 {
		return "nil"
	}
	return fmt.Sprintf("%#v", list)
}
