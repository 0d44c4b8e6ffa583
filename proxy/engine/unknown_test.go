package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// TestUnknownCommitDuringARunIsNotRepeated covers a commit of a run's events that succeeded without an answer, while
// the database cannot say so. The run ends in an error and its events are logged once, both with a checkpoint, which
// would collide, and without one, which would be duplicated.
func TestUnknownCommitDuringARunIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]mapping.Event{
		"token":      {Kind: mapping.KindDelta, Data: json.RawMessage(`[{"content":"unanswered"},{}]`)},
		"checkpoint": step(adapter.Assignment{Run: &mapping.Run{}}, 1, "unanswered", false),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := storetest.Schema(t)
			w, dsn := storetest.Through(t, server)
			goOn, refused, back := make(chan struct{}), make(chan struct{}), make(chan struct{})
			b := open(t, dsn, &script{exposes: mapping.ExposesNothing, run: func(_ context.Context, _ adapter.Assignment, yield func(mapping.Event, error) bool) {
				<-goOn
				for yield(ev, nil) {
					ev = mapping.Event{Kind: mapping.KindDelta, Data: json.RawMessage(`[{"content":"further"},{}]`)}
				}
				close(refused)
				<-back
			}})
			run := b.begin(t, order(mapping.NewID(), mapping.StrategyReject))
			held := w.HoldAnswer("unanswered")
			close(goOn)
			<-held
			execute(t, server, `ALTER TABLE commits RENAME TO elsewhere`)
			w.HangUp()
			<-refused
			execute(t, server, `ALTER TABLE elsewhere RENAME TO commits`)
			close(back)
			if out := b.end(t, run); out.Status != mapping.RunError || out.Fault.Code != "database_unavailable" {
				t.Errorf("the run ended with %+v", out)
			}
			checkLogged(t, b, run)
		})
	}
}

// checkLogged expects the unanswered event once, and the end last, in the log and in what readers were shown.
func checkLogged(t *testing.T, b *bench, run mapping.Run) {
	t.Helper()
	logged, err := b.st.Events.List(t.Context(), run.ThreadID, run.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, ev := range logged {
		if bytes.Contains(ev.Data, []byte("unanswered")) {
			n++
		}
	}
	if n != 1 || logged[len(logged)-1].Kind != mapping.KindEnd {
		t.Errorf("%d unanswered events, and the last is %s", n, logged[len(logged)-1].Kind)
	}
	shown := b.read(t, run)
	if len(shown) != len(logged) {
		t.Errorf("%d events shown, %d logged", len(shown), len(logged))
	}
}

func execute(t *testing.T, dsn, text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}
