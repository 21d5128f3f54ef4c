package config

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// scrubbed returns a logger without the values of secrets: what tool servers write to standard error comes here as well.
func scrubbed(l *slog.Logger, set *secrets.Set) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if len(set.Names()) == 0 {
		return l
	}
	return slog.New(scrubbing{l.Handler(), set})
}

type scrubbing struct {
	slog.Handler
	set *secrets.Set
}

// Handle implements slog.Handler.
func (h scrubbing) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h scrubbing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return scrubbing{h.Handler.WithAttrs(h.attrs(attrs)), h.set}
}

// WithGroup implements slog.Handler.
func (h scrubbing) WithGroup(name string) slog.Handler {
	return scrubbing{h.Handler.WithGroup(name), h.set}
}

func (h scrubbing) attrs(in []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(in))
	for i, a := range in {
		out[i] = h.attr(a)
	}
	return out
}

func (h scrubbing) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		v = slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindString:
		v = slog.StringValue(h.text(v.String()))
	case slog.KindAny: // errors and the like are told as text
		if s := fmt.Sprint(v.Any()); h.text(s) != s {
			v = slog.StringValue(h.text(s))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func (h scrubbing) text(s string) string { return string(h.set.Scrub([]byte(s))) }
