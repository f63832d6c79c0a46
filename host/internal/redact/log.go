package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler is to with names in place of secrets, in messages and in values.
func (s *Set) Handler(to slog.Handler) slog.Handler { return handler{s, to} }

type handler struct {
	set *Set
	to  slog.Handler
}

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.set.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.to.Handle(ctx, out)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.attr(a)
	}
	return handler{h.set, h.to.WithAttrs(out)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.set, h.to.WithGroup(name)} }

func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var inner []any
		for _, g := range v.Group() {
			inner = append(inner, h.attr(g))
		}
		return slog.Group(a.Key, inner...)
	case slog.KindString, slog.KindAny:
		text := v.String()
		if err, ok := v.Any().(error); ok {
			text = err.Error()
		} else if v.Kind() == slog.KindAny {
			text = fmt.Sprintf("%+v", v.Any())
		}
		if clean := h.set.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
