package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// written returns the size of the diffs and snapshots in a thread's history.
func (b *bench) written(t *testing.T, thread string) (bytes int) {
	t.Helper()
	db := b.direct(t)
	err := db.QueryRowContext(t.Context(), `SELECT coalesce(sum(length(coalesce(e.data, '')) + length(coalesce(e.snapshot, ''))), 0)
 FROM events e JOIN threads h ON h.id = e.thread WHERE h.thread_id = ? AND e.line IS NOT NULL`, thread).Scan(&bytes)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// chat returns a full state of n messages.
func chat(n int) json.RawMessage {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":"m%d","type":"ai","content":"message %d %s"}`, i, i, strings.Repeat("word ", 40))
	}
	return json.RawMessage(`{"messages":[` + strings.Join(list, ",") + `],"turn":` + fmt.Sprint(n) + `}`)
}

func TestHistoryOfAChatStoresOnlyDifferences(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	const steps = 300
	for name, s := range map[string]*script{
		"states of a thread/run agent": {run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
			_ = yield(linked("up"), nil)
			for n := 1; n <= steps; n++ {
				ev := mapping.Event{Kind: mapping.KindState, Data: chat(n), Head: mapping.Head{Full: true, Name: "values",
					Checkpoint: &mapping.Checkpoint{Source: "loop", Step: n, Next: []string{"chat"}, Remote: fmt.Sprint("c", n)}}}
				if !yield(ev, nil) {
					return
				}
			}
			yield(ended(mapping.RunSuccess), nil)
		}},
		"steps of a task/step agent": {exposes: mapping.ExposesNothing, run: func(_ context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
			_ = yield(linked("up"), nil)
			for n := 1; n <= steps; n++ {
				if !yield(step(task, n, fmt.Sprint(n, strings.Repeat(" word", 40)), n == steps), nil) {
					return
				}
			}
			yield(ended(mapping.RunSuccess), nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, s)
			r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			es := b.read(t, r)
			if out := es[len(es)-1].Head.Outcome; out.Status != mapping.RunSuccess {
				t.Fatalf("outcome %+v", out)
			}
			checkpoints := 0
			for _, e := range es {
				if e.Head.Checkpoint != nil {
					checkpoints++
				}
			}
			state := es[len(es)-1].After.Size()
			per := float64(b.written(t, r.ThreadID)) / float64(checkpoints) / float64(state)
			t.Logf("%d checkpoints of a state of %d bytes take %.4f of it each", checkpoints, state, per)
			if checkpoints < steps || per > 0.1 {
				t.Errorf("%d checkpoints, %.3f of a state each; want at most 0.1", checkpoints, per)
			}
			file := float64(b.grownBy(t, r.ThreadID)) / float64(checkpoints) / float64(state)
			t.Logf("in the file: %.4f", file)
			if file > 0.1 {
				t.Errorf("the file grew by %.3f of a state for each checkpoint; want at most 0.1", file)
			}
			b.sameCold(t, r)
		})
	}
}

// grownBy returns how much smaller the database file is without a thread.
func (b *bench) grownBy(t *testing.T, thread string) (bytes int64) {
	t.Helper()
	db := b.direct(t)
	size := func() (n int64) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), `SELECT (pc.page_count - fc.freelist_count) * ps.page_size
 FROM pragma_page_count() pc, pragma_freelist_count() fc, pragma_page_size() ps`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	with := size()
	copied, err := b.st.Threads.Copy(t.Context(), thread, mapping.NewID(), store.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	twice := size()
	if err := b.st.Threads.Delete(t.Context(), copied.ID); err != nil {
		t.Fatal(err)
	}
	return max(twice-with, twice-size())
}

// A state that is rewritten at every step gets occasional snapshots, so that reading a checkpoint never folds much more
// than a state.
func TestSnapshotsLimitTheReadSizeOfAState(t *testing.T) {
	t.Parallel()
	const steps = 120
	b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for n := range steps {
			data := fmt.Sprintf(`{"scratch":"%d %s","fixed":"%s"}`, n, strings.Repeat("x", 2000), strings.Repeat("y", 6000))
			if !yield(mapping.Event{Kind: mapping.KindState, Data: json.RawMessage(data),
				Head: mapping.Head{Full: true, Checkpoint: &mapping.Checkpoint{Source: "loop", Step: n}}}, nil) {
				return
			}
		}
		yield(ended(mapping.RunSuccess), nil)
	}})
	thread := mapping.NewID()
	var runs []mapping.Run
	for range 2 { // the second continues from an existing history
		r := b.begin(t, order(thread, mapping.StrategyReject))
		if out := b.end(t, r); out.Status != mapping.RunSuccess {
			t.Fatalf("outcome %+v", out)
		}
		runs = append(runs, r)
	}
	for _, r := range runs {
		b.sameCold(t, r)
		for _, e := range b.read(t, r) {
			if e.Head.Checkpoint == nil {
				continue
			}
			s, err := b.st.States.At(t.Context(), thread, e.Head.Checkpoint.ID)
			if err != nil {
				t.Fatal(err)
			}
			if s.DiffBytes > 2*e.After.Size() {
				t.Fatalf("checkpoint of event %d is folded from %d bytes of differences, its state has %d", e.Seq, s.DiffBytes, e.After.Size())
			}
		}
	}
}

func TestAForkBeginsAtItsCheckpoint(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{exposes: mapping.ExposesNothing, run: twoSteps})
	thread := mapping.NewID()
	first := b.read(t, b.begin(t, order(thread, mapping.StrategyReject)))
	b.end(t, b.begin(t, order(thread, mapping.StrategyReject)))
	o := order(thread, mapping.StrategyReject)
	for _, e := range first {
		if e.Head.Step != nil {
			o.New.Run.Options.Checkpoint = e.Head.Checkpoint.ID // of the second-to-last step
			break
		}
	}
	r := b.begin(t, o)
	es := b.read(t, r)
	if n := len(es[len(es)-1].After.Messages()); n != 5 {
		t.Errorf("%d messages, want two from before the fork and three of its own", n)
	}
	b.sameCold(t, r)
	th, err := b.st.Threads.Get(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	if fold, err := b.cold(t).Base(t.Context(), thread, th.Head); err != nil || len(fold.Messages()) != 5 {
		t.Errorf("the head reads %v, %v", fold, err)
	}
}

// A run that is picked up continues from a state without a checkpoint.
func TestAStateWithoutACheckpointSurvivesARestart(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	b := setup(t, &script{run: func(ctx context.Context, task adapter.Assignment, yield func(mapping.Event, error) bool) {
		if yield(linked("up"), nil) && yield(mapping.Event{Kind: mapping.KindState, Data: chat(2), Head: mapping.Head{Full: true, Name: "values"}}, nil) {
			waiting(started)(ctx, task, yield)
		}
	}})
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	<-started
	path := b.path
	b.close()
	again := open(t, path, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		yield(ended(mapping.RunSuccess), nil)
	}})
	again.end(t, r)
	fold, cp, err := again.cold(t).State(t.Context(), r.ThreadID, "")
	if err != nil || cp.ID == "" || len(fold.Messages()) != 2 {
		t.Errorf("the thread's state is %s at %q, %v", fold.JSON(), cp.ID, err)
	}
}

func TestTokensAreWrittenTogether(t *testing.T) {
	t.Parallel()
	const tokens = 1000
	b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for i := range tokens {
			if !yield(mapping.Event{Kind: mapping.KindDelta, Data: json.RawMessage(fmt.Sprintf(`[{"content":"%d"},{}]`, i))}, nil) {
				return
			}
		}
		yield(ended(mapping.RunSuccess), nil)
	}})
	es := b.read(t, b.begin(t, order(mapping.NewID(), mapping.StrategyReject)))
	n := 0
	for _, e := range es {
		if e.Kind == mapping.KindDelta {
			if want := fmt.Sprintf(`[{"content":"%d"},{}]`, n); string(e.Data) != want {
				t.Fatalf("token %d is %s", n, e.Data)
			}
			n++
		}
	}
	if n != tokens || es[len(es)-1].Head.Outcome.Status != mapping.RunSuccess {
		t.Errorf("%d tokens, outcome %+v", n, es[len(es)-1].Head.Outcome)
	}
}

func TestFilesOfAStateAreArtifacts(t *testing.T) {
	t.Parallel()
	states := []string{
		`{"files":{"/out/a.txt":{"content":"one","encoding":"utf-8"},"/b.txt":{"content":"b","encoding":"utf-8"},"/skip/x":{"content":"x","encoding":"utf-8"}}}`,
		`{"files":{"/out/a.txt":{"content":"two","encoding":"utf-8"},"/skip/x":{"content":"x","encoding":"utf-8"}}}`,
	}
	b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		_ = yield(linked("up"), nil)
		for i, s := range states {
			if !yield(mapping.Event{Kind: mapping.KindState, Data: json.RawMessage(s),
				Head: mapping.Head{Full: true, Checkpoint: &mapping.Checkpoint{Source: "loop", Step: i}}}, nil) {
				return
			}
		}
		yield(ended(mapping.RunSuccess), nil)
	}}, func(a *config.Agent) { a.Artifacts.Exclude = []string{"/skip/**"} })
	r := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
	b.end(t, r)
	list, _, err := b.st.Artifacts.List(t.Context(), r.ThreadID, 0, 0)
	if err != nil || len(list) != 1 || list[0].Path != "out/a.txt" || !list[0].AgentCreated || list[0].Size != 3 {
		t.Fatalf("artifacts %+v, %v", list, err)
	}
}

func TestDefaultAnswerIsGivenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, &script{run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
		ask := mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: []mapping.Interrupt{{ID: "q", Value: json.RawMessage(`"which?"`)}}}}
		_ = yield(linked("up"), nil) && yield(ask, nil) && yield(ended(mapping.RunInterrupted), nil)
	}})
	for guessed, want := range map[string]string{"which?": mapping.CodeRepeatedQuestion, "another?": ""} {
		o := order(mapping.NewID(), mapping.StrategyReject)
		o.New.Run.Options.Guessed = guessed
		out := b.end(t, b.begin(t, o))
		code := ""
		if out.Fault != nil {
			code = out.Fault.Code
		}
		if code != want || want == "" && out.Status != mapping.RunInterrupted {
			t.Errorf("after a default answer to %q: %+v", guessed, out)
		}
	}
}
