package eventlog_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/eventlog"
)

// An execution resumes a run that was partly logged by an earlier process. Until the execution has read those events,
// the buffer lacks them and the store is not queried. A reader that returned nothing would make its caller report an
// existing step as missing.
func TestReadIncludesEntriesOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(b *bench, buffer *eventlog.RunBuffer, logged []*state.Entry){
		"an execution that begins": func(_ *bench, buffer *eventlog.RunBuffer, logged []*state.Entry) {
			base, _ := state.NewFold(nil)
			buffer.Begin(base, logged)
		},
		"an execution that cannot begin": func(b *bench, buffer *eventlog.RunBuffer, _ []*state.Entry) { b.Release(buffer) },
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := open(t, path)
				c := b.create(true)
				b.elsewhere(c.Run, c.Claimed.Fence).add(mapping.Event{Kind: mapping.KindCustom, Data: []byte(`1`)})
				evs, err := b.st.Events.List(t.Context(), c.Run.ThreadID, c.Run.ID, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				base, _ := state.NewFold(nil)
				logged, err := eventlog.Fold(base, evs)
				if err != nil {
					t.Fatal(err)
				}
				buffer := b.Acquire(&c.Run)
				read := make(chan []*state.Entry, 1)
				go func() {
					list, err := b.Read(t.Context(), &c.Run, 0)
					if err != nil {
						t.Error(err)
					}
					read <- list
				}()
				synctest.Wait()
				comes(b, buffer, logged)
				if got := <-read; len(got) != len(evs) {
					t.Errorf("%d events are read, want %d", len(got), len(evs))
				}
			})
		})
	}
}
