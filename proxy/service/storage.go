package service

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/proxy/store"
)

// storage reads how many bytes threads take.
type storage struct{ threads *store.Threads }

func (s *storage) ThreadStorage(ctx context.Context, id string) (adapter.ThreadStorage, error) {
	use, err := s.threads.Storage(ctx, id)
	if err != nil {
		return adapter.ThreadStorage{}, err
	}
	return adapter.ThreadStorage{
		ThreadID: id,
		Events:   adapter.Storing{Count: use.Events, Bytes: use.EventBytes},
		States:   adapter.Storing{Count: use.States, Bytes: use.StateBytes},
		Files:    adapter.Storing{Count: use.Files, Bytes: use.FileBytes},
		Total:    use.EventBytes + use.StateBytes + use.FileBytes,
		Exact:    !use.More,
	}, nil
}
