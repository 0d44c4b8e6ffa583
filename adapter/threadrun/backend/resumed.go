package backend

import (
	"hash/fnv"
	"slices"

	"github.com/apbridge/apbridge/adapter/sse"
)

// resumed finds the frames of a stream that was gone back to which were read before. A server is told the newest id,
// and is to go on after it. Some begin with that frame, and some at the first one, or at the oldest that they keep.
type resumed struct {
	ids   []uint64 // hashes of the ids that were read: a run may have a million
	after string   // the id that the server was told; "" for none
	stand repetition
}

// repetition is how far a stream repeats what was read before.
type repetition int

const (
	repeatsNothing repetition = iota
	mayRepeat                 // no frame has shown yet where the server goes on
	repeatsEarlier            // frames up to the one with the id that the server was told
	repeatsLast               // that one was read: several frames may have its id
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

// repeats reports whether a frame was read before. The frames of a stream must be given in their order.
func (r *resumed) repeats(f sse.Event) bool {
	switch r.stand {
	case mayRepeat:
		if f.ID == "" || f.Name == "metadata" { // this one is not logged, and may come first anywhere
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
