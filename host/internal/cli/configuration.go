package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
)

// named is the file that a person names, or "".
func (f *Factory) named() string { return cmp.Or(f.configFile, f.Getenv("COLLET_CONFIG")) }

// home is an error where there is no place for files of the user's.
func (f *Factory) home() error {
	if f.homeless != nil {
		return exitf(exitConfiguration, "%v", f.homeless)
	}
	return nil
}

// discover finds the configuration of who names none.
func (f *Factory) discover(dir string) (*host.Discovery, error) {
	if err := f.home(); err != nil {
		return nil, err
	}
	return f.Discover(dir), nil
}

// layers are the files that count when none is named, read. A project's file that
// is not trusted is none of them; with ask a person at the terminal is asked
// about it, everybody else is told on stderr. There is at least one layer, or an
// error.
func (f *Factory) layers(ctx context.Context, ask bool) ([]host.Layer, error) {
	found, err := f.discover("")
	if err != nil {
		return nil, err
	}
	ignored := found.Ignored()
	if ignored != nil && ask && f.asks(ignored) {
		if err := f.askTrust(ctx, found); err != nil {
			return nil, err
		}
		ignored = found.Ignored()
	}
	layers := found.Sources()
	switch {
	case ignored != nil && len(layers) > 0:
		f.Streams.Note("collet: %s", ignoredNotice(ignored))
	case ignored != nil:
		return nil, exitf(exitAuth, "%s; there is no other configuration", ignoredNotice(ignored))
	case len(layers) == 0:
		return nil, exitf(exitConfiguration, "no configuration: write %s, or a project's mcp.toml, or name a file with --config or COLLET_CONFIG", found.Files[0].Path)
	}
	return layers, nil
}

// configuration is what a command reads that only shows it.
func (f *Factory) configuration(ctx context.Context) (*config.Config, error) {
	if file := f.named(); file != "" {
		named := config.ReadNamed([]string{file})
		if err := named[0].Err; err != nil {
			return nil, exitf(exitConfiguration, "read configuration: %v", err)
		}
		return config.Merge(named), nil
	}
	layers, err := f.layers(ctx, false)
	if err != nil {
		return nil, err
	}
	return config.Merge(layers), nil
}

// ignoredNotice says in one line why a project's file does not count.
func ignoredNotice(file *layer.File) string {
	path := visible(file.Path)
	switch {
	case file.Err != nil:
		return fmt.Sprintf("%s is ignored: %v", path, file.Err)
	case file.Changed:
		return fmt.Sprintf("%s has changed since it was trusted, and is ignored; 'collet trust' shows what it would start", path)
	}
	return fmt.Sprintf("%s is not trusted, and is ignored; 'collet trust' shows what it would start", path)
}

// asks reports whether there is somebody to ask, and something to be decided.
func (f *Factory) asks(file *layer.File) bool {
	return f.Streams.InTerminal && f.Streams.ErrTerminal && file.State == layer.Untrusted && file.Err == nil && !file.Refused
}

// askTrust shows what the untrusted file would start and asks. Whatever is not a
// yes leaves it untrusted; a no is remembered.
func (f *Factory) askTrust(ctx context.Context, found *host.Discovery) error {
	file := found.Ignored()
	offer := offered(found)
	fmt.Fprint(f.Streams.Err, offer.text)
	answer, err := confirm(ctx, f.Streams.In, f.Streams.Err, offer.question(file))
	switch {
	case err != nil:
		return err
	case answer == replyYes:
		err = found.Trust(ctx)
	case answer == replyNo:
		err = found.Refuse(ctx)
	}
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	return nil
}

// reply is what a person said to a question.
type reply int

const (
	replyNone reply = iota // the line did not end
	replyYes
	replyNo
)

// maxAnswer bounds the line that answers a question, in bytes.
const maxAnswer = 64 << 10

// confirm asks a question. A line that is y or yes is a yes, any other a no; the
// error is that ctx was canceled. It reads no further than the end of the line:
// the rest of in is the command's.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (reply, error) {
	line, ended, err := askLine(ctx, in, out, question)
	switch {
	case err != nil, !ended:
		return replyNone, err
	case strings.EqualFold(line, "y"), strings.EqualFold(line, "yes"):
		return replyYes, nil
	}
	return replyNo, nil
}

// askLine asks a question and reads the line that answers it, without the space
// around. ended is false where in ended first, or the line is too long for an answer.
func askLine(ctx context.Context, in io.Reader, out io.Writer, question string) (line string, ended bool, err error) {
	fmt.Fprint(out, question)
	type answer struct {
		line  string
		ended bool
	}
	said := make(chan answer, 1)
	// It ends with the line, or with the process: nothing interrupts a read from a
	// terminal, and a canceled command has only to exit.
	go func() {
		line, ended := readLine(in)
		said <- answer{line, ended}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return "", false, ctx.Err()
	case a := <-said:
		return a.line, a.ended, nil
	}
}

func readLine(in io.Reader) (line string, ended bool) {
	var text []byte
	var b [1]byte
	for len(text) < maxAnswer {
		n, err := in.Read(b[:])
		if n > 0 && b[0] == '\n' {
			return string(bytes.TrimSpace(text)), true
		}
		text = append(text, b[:n]...)
		if err != nil {
			break
		}
	}
	return "", false
}
