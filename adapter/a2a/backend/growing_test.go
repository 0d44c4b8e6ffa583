package backend

import (
	"runtime"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

const (
	pieces = 20_000
	piece  = "fifty bytes of an answer that grows with each event"
)

// grow reports pieces of an artifact to a run whose client requested tokens, and returns the tokens.
func grow(tb testing.TB) string {
	var tokens strings.Builder
	r := newRun(tb.Context(), nil, &adapter.Assignment{Run: &mapping.Run{ID: "r", Options: mapping.RunOptions{StreamModes: []string{"messages-tuple"}}}},
		func(ev mapping.Event, err error) bool {
			tokens.WriteString(rule.MessageText(rawjson.ElementsOf(ev.Data)[0]))
			return err == nil
		})
	for range pieces {
		r.output.artifact(&wire.TaskArtifactUpdateEvent{Artifact: wire.Artifact{ArtifactID: "a", Parts: wire.Parts{wire.TextPart(piece)}}, Append: true})
		if err := r.output.deliver(); err != nil {
			tb.Fatal(err)
		}
	}
	if got := r.output.find("a").Parts; len(got) != 1 || got[0].Text != tokens.String() {
		tb.Errorf("the artifact has %d parts, not the text of the tokens", len(got))
	}
	return tokens.String()
}

// TestGrowingTextIsNotCopiedWithEachPiece is not parallel, because it measures the memory of the process. Copies of a text
// that grows by such pieces would take 10 GB.
func TestGrowingTextIsNotCopiedWithEachPiece(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := grow(t); got != strings.Repeat(piece, pieces) {
		t.Errorf("the tokens have %d bytes", len(got))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200*uint64(pieces*len(piece)) {
		t.Errorf("%d bytes were allocated for a text of %d", used, pieces*len(piece))
	}
}

// BenchmarkGrowingText also measures comparisons, which the test cannot see, because they allocate nothing.
func BenchmarkGrowingText(b *testing.B) {
	for b.Loop() {
		grow(b)
	}
}
