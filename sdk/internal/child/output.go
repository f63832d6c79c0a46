// Package child is a plugin seen from inside its process: its streams, its log, and
// the pipe that says whether the host lives. It knows no contract.
package child

import (
	"io"
	"log/slog"
	"os"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// The real streams, saved before go-plugin and this package redirect the
// variables. Log lines always go to stderr, whatever os.Stderr is by then.
var (
	Stdout = os.Stdout
	Stderr = os.Stderr
)

// Kind is what a host started this process as, by the value of its magic cookie
// (wire.CookieValue, wire.HookCookieValue); empty when it was started by hand.
var Kind = os.Getenv(wire.CookieKey)

// The handshake is the first line on stdout, and go-plugin takes any other text
// there for a broken plugin. So in a plugin process, and only there, prints go to
// stderr from now on, those of the plugin's own init functions included.
var _ = func() struct{} {
	if Kind != "" {
		os.Stdout = Stderr
	}
	return struct{}{}
}()

// ClaimOutput points the standard streams at the real stderr. go-plugin leaves
// them on pipes that only a connected host empties, where a print can block and
// the last words before a crash are lost.
func ClaimOutput() {
	os.Stdout, os.Stderr = Stderr, Stderr
}

// NewLogger returns a logger that writes hclog's JSON form to w: one object a
// line with "@level", "@message", "@module" and "@timestamp" beside the
// attributes. The host filters by level, so that changing its log level restarts
// nothing.
func NewLogger(w io.Writer, module string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level:       slog.LevelDebug,
		ReplaceAttr: hclogKeys,
	})).With("@module", module)
}

func hclogKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "@message"
	case slog.LevelKey:
		// An author's attribute may have the same name and holds another type.
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("@level", levelWord(level))
		}
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.String("@timestamp", a.Value.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
		}
	}
	return a
}

// levelWord names the level as hclog does; it has none between its own.
func levelWord(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	default:
		return "error"
	}
}
