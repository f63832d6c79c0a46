// Command pages writes what is installed beside collet for those who type: a manual
// page for each command and the completion scripts of shells. It is a program of its
// own so that collet does not carry what writes them.
//
// It never runs a command and reads no configuration.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/collet-dev/collet/host/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages DIR\n\nWrites DIR/man/man1/*.1, the manual pages of collet, and DIR/completions/*, the completion scripts of\nbash, zsh and fish. SOURCE_DATE_EPOCH is the date of the pages (default: none of its own, 1970).")
		os.Exit(2)
	}
	if err := write(os.Args[1], cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0")); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

// write writes all pages below dir. epoch is their date, in seconds since 1970: the
// same sources make the same bytes, whenever that is.
func write(dir, epoch string) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds since 1970", epoch)
	}
	date := time.Unix(seconds, 0).UTC()
	man, completions := filepath.Join(dir, "man", "man1"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := cli.Command()
	for name, script := range map[string]func(io.Writer) error{
		"collet.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_collet":     root.GenZshCompletion,
		"collet.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var b strings.Builder
		if err := script(&b); err != nil {
			return fmt.Errorf("completion script %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(completions, name), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	asMarkdown(root)
	root.DisableAutoGenTag = true // it names the date a second time
	header := &doc.GenManHeader{Section: "1", Source: "collet", Manual: "collet", Date: &date}
	if err := doc.GenManTree(root, header, man); err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	return nil
}

// asMarkdown makes Markdown of the texts of a command and those below it: cobra takes
// them for that, and what is written for a terminal would lose its globs and its lines.
func asMarkdown(cmd *cobra.Command) {
	cmd.Long = paragraphs(cmp.Or(cmd.Long, cmd.Short+"."))
	cmd.Short = escape(cmd.Short)
	if name, rest, ok := strings.Cut(cmd.Use, " "); ok {
		cmd.Use = name + " " + escape(rest)
	}
	flag := func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		f.Usage = escape(usage)
	}
	cmd.Flags().VisitAll(flag)
	cmd.PersistentFlags().VisitAll(flag)
	for _, child := range cmd.Commands() {
		asMarkdown(child)
	}
}

// paragraphs keeps what is indented as it is.
func paragraphs(text string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  "); indented {
			if !verbatim {
				b.WriteString("\n") // a block begins after an empty line
			}
			b.WriteString("    " + line)
			verbatim = true
			continue
		}
		verbatim = verbatim && line == "\n"
		b.WriteString(escape(line))
	}
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "&", `\&`, "#", `\#`)

func escape(text string) string { return escaper.Replace(text) }
