package limit

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Counter counts the objects of quotas.
type Counter interface {
	// Usage returns the current use of a limit by a key, or a whole tenant.
	Usage(ctx context.Context, limit, of string, who mapping.Principal) (int64, error)
}

// Report returns the limits of the principal with their use. Those of its key come first.
func (l *Limiter) Report(ctx context.Context, who mapping.Principal, count Counter) ([]adapter.Limit, error) {
	list := []adapter.Limit{}
	for _, s := range l.allowed.subjects(who) {
		for _, limit := range Names() {
			line := adapter.Limit{Limit: limit, Of: s.of, Name: s.name}
			bounded, err := l.fill(ctx, &line, s, who, count)
			if err != nil {
				return nil, err
			}
			if bounded {
				line.Left = max(0, line.Most-line.Used)
				list = append(list, line)
			}
		}
	}
	return list, nil
}

func (l *Limiter) fill(ctx context.Context, line *adapter.Limit, s subject, who mapping.Principal, count Counter) (bounded bool, err error) {
	switch line.Limit {
	case Requests, Runs, Upload:
		r := s.rate(line.Limit)
		if r.n == 0 {
			return false, nil
		}
		left, err := l.bucketOf(s, line.Limit, r).left(ctx)
		line.Most, line.Seconds, line.Used = r.n, int64(r.span.Seconds()), r.n-left
		return true, err
	case Streams:
		l.mu.Lock()
		line.Most, line.Used = int64(s.Streams), int64(l.open[s.of+"/"+s.name])
		l.mu.Unlock()
	default:
		line.Most = quotaOf(s.Allowance, line.Limit)
		if line.Most > 0 {
			line.Used, err = count.Usage(ctx, line.Limit, s.of, who)
		}
	}
	return line.Most > 0, err
}
