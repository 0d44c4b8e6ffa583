package service

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/proxy/store"
)

// index searches threads.
type index struct {
	threads *store.Threads
	heads   heads
	log     lister
}

func (s *index) SearchThreads(ctx context.Context, q adapter.ThreadSearch) (iter.Seq2[mapping.Thread, error], int, error) {
	list, total, err := s.threads.Search(ctx, q.ThreadQuery, s.having(ctx, q.Values))
	if err != nil {
		return nil, 0, err
	}
	if q.NoValues {
		return list, total, nil
	}
	states := s.log.Listing()
	return those(list, func(t mapping.Thread) (mapping.Thread, error) { return s.listed(ctx, t, states) }), total, nil
}

// listed is heads.WithValues for a thread of a list.
func (s *index) listed(ctx context.Context, t mapping.Thread, states stateReader) (mapping.Thread, error) {
	now, fold, err := s.heads.readBy(ctx, &t, states)
	if err != nil {
		return *now, err
	}
	now.Values = fold.Once()
	return *now, nil
}

func (s *index) CountThreads(ctx context.Context, q adapter.ThreadSearch) (int, error) {
	q.Limit, q.Offset = 1, 0
	_, total, err := s.threads.Search(ctx, q.ThreadQuery, s.having(ctx, q.Values))
	return total, err
}

// having wants the threads whose states contain values; nil where values ask for nothing.
func (s *index) having(ctx context.Context, values json.RawMessage) store.ThreadFilter {
	if len(values) == 0 || string(values) == "{}" {
		return nil
	}
	states := s.log.Listing()
	return func(t mapping.Thread) (bool, error) {
		_, fold, err := s.heads.readBy(ctx, &t, states)
		if notFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return rawjson.Contains(fold.Once(), values), nil
	}
}
