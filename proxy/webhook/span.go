package webhook

import (
	"context"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// traced begins the span of an attempt as a child of the run's span. The outbox has no trace, so the run is read from
// the database, but only if spans are recorded. An attempt for a deleted run has a separate trace.
func (s *Sender) traced(ctx context.Context, d store.Delivery) (context.Context, func(status int, outcome string)) {
	if s.tracer != nil {
		if r, err := s.runs.Get(mapping.WithPrincipal(ctx, mapping.Principal{Tenant: d.Tenant}), "", d.RunID); err == nil {
			ctx = mapping.WithRequestID(mapping.WithTrace(ctx, r.Span()), r.Options.RequestID)
		}
	}
	return s.tracer.Delivery(ctx, d.RunID, d.URL, d.Attempts)
}
