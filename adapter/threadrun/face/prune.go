package face

import (
	"context"
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// pruneThreads deletes many threads, or all of their states but the newest. It counts those of which something went:
// not those that are gone already, nor, where states are to go, those that a run is active on. Source: threads.prune of
// the LangGraph SDKs.
func (s *server) pruneThreads(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, true)
	if err != nil {
		return err
	}
	strategy := o.Enum("strategy", "delete", "keep_latest")
	ids := o.Texts("thread_ids")
	if o.Get("thread_ids") == nil {
		o.Complain("thread_ids", "is needed")
	}
	if most := s.face.Limits.MaxPruneThreads; most > 0 && len(ids) > most {
		o.Complain("thread_ids", "names %d threads, and limits.max_prune_threads of this bridge allows %d at a time", len(ids), most)
	}
	for i, id := range ids {
		if ids[i] = strings.ToLower(id); !mapping.IsUUID(ids[i]) {
			o.Complain("thread_ids", "must be a list of UUIDs")
		}
	}
	if err := o.Err(); err != nil {
		return err
	}
	remove := s.pruneHistory
	if strategy != "keep_latest" {
		remove = s.pruneThread
	}
	n, err := prune(r.Context(), ids, remove)
	if err != nil {
		return err
	}
	var e rawjson.Writer
	reply(w, http.StatusOK, e.Open('{').Key("pruned_count").Int(int64(n)).Close('}').Bytes)
	return nil
}

func prune(ctx context.Context, ids []string, remove func(context.Context, string) (bool, error)) (n int, err error) {
	for _, id := range ids {
		switch did, err := remove(ctx, id); {
		case err != nil && !isNotFound(err):
			return n, err
		case did:
			n++
		}
	}
	return n, nil
}

func (s *server) pruneThread(ctx context.Context, id string) (bool, error) {
	err := s.svc.DeleteThread(ctx, id)
	return err == nil, err
}

func (s *server) pruneHistory(ctx context.Context, id string) (bool, error) {
	n, err := s.svc.DeleteHistory(ctx, id)
	return n > 0, err
}
