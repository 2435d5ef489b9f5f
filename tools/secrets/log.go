package secrets

import (
	"context"
	"log/slog"
)

// Handler takes secrets out of every text of a log record before it is written.
type Handler struct {
	next     slog.Handler
	redactor *Redactor
}

// NewHandler wraps a handler.
func NewHandler(next slog.Handler, r *Redactor) *Handler { return &Handler{next: next, redactor: r} }

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, h.redactor.Redact(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.clean(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	cleaned := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		cleaned[i] = h.clean(a)
	}
	return &Handler{next: h.next.WithAttrs(cleaned), redactor: h.redactor}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), redactor: h.redactor}
}

// clean writes out what is not a plain number or time, since an error's or a struct's text may hold anything.
func (h *Handler) clean(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		group := v.Group()
		cleaned := make([]slog.Attr, len(group))
		for i, inner := range group {
			cleaned[i] = h.clean(inner)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(cleaned...)}
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, h.redactor.Redact(v.String()))
	}
	return slog.Attr{Key: a.Key, Value: v}
}
