package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type configShowOptions struct {
	Streams       *terminal.Streams
	Configuration func(context.Context) (*config.Config, error)
	JSON          bool
}

func newCmdConfigShow(f *Factory, runF func(context.Context, *configShowOptions) error) *cobra.Command {
	opts := &configShowOptions{Streams: f.Streams, Configuration: f.configuration}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every value in effect and where it is set, without secrets",
		Long: `Show every value in effect, defaults included, with the file and line that sets it.
Nothing is expanded or run.

Values that may be secrets are left out: in env, headers, oauth and config everything
except true, false and the names of variables; in url and args the user, the password,
queries, and anything that looks like a token.`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return configShowRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false,
		`print {"settings":[{"key","value","hidden","file","line","layer"}],"problems":[{"file","line","server","key","message"}]}`)
	return cmd
}

func configShowRun(ctx context.Context, opts *configShowOptions) error {
	c, err := opts.Configuration(ctx)
	if err != nil {
		return err
	}
	if opts.JSON {
		return printJSON(opts.Streams, settingsJSON(c))
	}
	for _, p := range c.Problems {
		opts.Streams.Note("collet: %s", problemText(p))
	}
	_, err = fmt.Fprint(opts.Streams.Out, opts.Streams.Text(settingsText(c)))
	return err
}

func settingsJSON(c *config.Config) []byte {
	var settings [][]byte
	for _, s := range c.Settings() {
		s = s.Conceal()
		var o rawjson.Object
		o.String("key", s.Key)
		o.Raw("value", s.Value)
		o.Bool("hidden", s.Hidden)
		o.OptionalString("file", s.Place.File)
		o.OptionalInt("line", int64(s.Place.Line))
		o.OptionalString("layer", string(s.Place.Layer))
		settings = append(settings, o.Bytes())
	}
	var o rawjson.Object
	o.Raw("settings", rawjson.Array(settings))
	o.Raw("problems", array(c.Problems, writeProblem))
	return o.Bytes()
}

func writeProblem(o *rawjson.Object, p *config.Problem) {
	o.String("file", p.File)
	o.OptionalInt("line", int64(p.Line))
	o.OptionalString("server", p.Server)
	o.OptionalString("key", p.Key)
	o.String("message", p.Message)
}

// placeColumn is where the places begin, unless the value is longer.
const placeColumn = 44

// settingsText is the settings as tables of TOML, each value with its place.
func settingsText(c *config.Config) string {
	var b strings.Builder
	table := ""
	for _, s := range c.Settings() {
		s = s.Conceal()
		name := s.Name()
		if in := strings.TrimSuffix(s.Key, "."+name); in != table {
			if table != "" {
				b.WriteByte('\n')
			}
			table = in
			fmt.Fprintf(&b, "[%s]\n", table)
		}
		place := "default"
		if s.Place != (config.Place{}) {
			place = fmt.Sprintf("%s (%s)", s.Place, s.Place.Layer)
		}
		fmt.Fprintf(&b, "%-*s # %s\n", placeColumn, name+" = "+string(s.Value), place)
	}
	return b.String()
}
