package timeline

import (
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/google/go-cmp/cmp"
)

func TestFramesThatFollowEachOtherAreCounted(t *testing.T) {
	t.Parallel()
	got := cellOf([]adapter.Frame{{Name: "messages", ID: "1"}, {Name: "messages", ID: "2"}, {Name: "messages", ID: "3", Note: "cut"}, {Name: "values"}, {Name: "messages"}})
	want := Cell{{Name: "messages", ID: "1", Times: 2}, {Name: "messages", ID: "3", Note: "cut"}, {Name: "values"}, {Name: "messages"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := cellOf(nil); got == nil {
		t.Error("an empty cell is no cell in JSON")
	}
}
