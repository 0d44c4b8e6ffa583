package backend

import (
	"hash/fnv"
	"slices"

	"github.com/apbridge/apbridge/adapter/sse"
)

// resumed detects frames of a reopened stream that were read before. The server receives the newest id and should
// continue after it. Some servers begin with that frame, others with the first frame or the oldest one they keep.
type resumed struct {
	ids   []uint64 // hashes of the ids that were read, because a run may have a million
	after string   // the id that the server received; "" for none
	stand repetition
}

// repetition describes how a stream repeats earlier frames.
type repetition int

const (
	repeatsNothing repetition = iota
	mayRepeat                 // it is not yet known where the server continues
	repeatsEarlier            // frames up to the one with the id that the server received
	repeatsLast               // that frame was read; several frames may have its id
)

func (r *resumed) note(id string) { r.ids = append(r.ids, hashOf(id)) }

func hashOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return h.Sum64()
}

func (r *resumed) begin(after string) {
	r.after, r.stand = after, repeatsNothing
	if after != "" && after != fromStart {
		r.stand = mayRepeat
	}
}

// repeats reports whether a frame was read before. Frames must be passed in the order of the stream.
func (r *resumed) repeats(f sse.Event) bool {
	switch r.stand {
	case mayRepeat:
		if f.ID == "" || f.Name == "metadata" { // metadata is not logged and may come first in any stream
			return f.Name == "metadata"
		}
		if !slices.Contains(r.ids, hashOf(f.ID)) {
			r.stand = repeatsNothing
			return false
		}
		r.stand = repeatsEarlier
	case repeatsLast:
		if f.ID != r.after {
			r.stand = repeatsNothing
		}
	}
	if r.stand == repeatsEarlier && f.ID == r.after {
		r.stand = repeatsLast
	}
	return r.stand != repeatsNothing
}
