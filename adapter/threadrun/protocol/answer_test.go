package protocol

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// answer is a client that accepts data until it breaks.
type answer struct {
	bytes.Buffer
	head   http.Header
	breaks atomic.Bool
}

func (a *answer) Header() http.Header { return a.head }
func (a *answer) WriteHeader(int)     {}
func (a *answer) Write(b []byte) (int, error) {
	if a.breaks.Load() {
		return 0, errors.New("the client has gone")
	}
	return a.Buffer.Write(b)
}

// streamed is a stream of a thread without events, for use with synctest.
type streamed struct {
	*world
	*answer
	leave  context.CancelFunc
	ended  chan error
	logged *observer.ObservedLogs
}

func stream(t *testing.T) *streamed {
	t.Helper()
	core, logged := observer.New(zap.DebugLevel)
	ctx, leave := context.WithCancel(t.Context())
	st := &streamed{newWorld(), &answer{head: http.Header{}}, leave, make(chan error, 1), logged}
	s := st.server()
	s.Heartbeat, s.Log = time.Second, zap.New(core)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { st.ended <- s.ServeEvents(st.answer, r, uuid(1), Snake, raw(`{"channels":["custom"]}`)) }()
	synctest.Wait()
	return st
}

// over waits for the end of a stream, which must not be logged.
func (st *streamed) over(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-st.ended:
		if err != nil || st.logged.Len() > 0 {
			t.Errorf("%v, and the log has %v", err, st.logged.All())
		}
	default:
		t.Error("the stream continues")
		st.leave()
	}
}

// A stream ends when its client disconnects, and nothing more is sent.
func TestAStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := stream(t)
		time.Sleep(3*time.Second + 1)
		synctest.Wait()
		if got := strings.Count(st.String(), ": heartbeat\n"); got != 3 {
			t.Errorf("%d heartbeats in three seconds: %q", got, st)
		}
		st.leave()
		st.over(t)
		sent := st.Len()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st.Len() > sent {
			t.Errorf("sent %q after the end", st.Bytes()[sent:])
		}
	})
}

// A lost client is noticed at the next event or heartbeat.
func TestAStreamEndsWhenItsClientIsLost(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(st *streamed){
		"an event": func(st *streamed) {
			st.play(runOf(1, "graph"), started(), mapping.Event{Kind: mapping.KindCustom, Data: raw(`1`)})
		},
		"a sign of life": func(*streamed) { time.Sleep(time.Second + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := stream(t)
				st.breaks.Store(true)
				next(st)
				st.over(t)
			})
		})
	}
}

// Requests for a stream are validated as strictly as other bodies.
func TestRequestsForAStream(t *testing.T) {
	t.Parallel()
	deep := `{"channels":["values"],"x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`
	for name, tt := range map[string]struct{ body, says string }{
		"none": {"", "a list of channels"}, "too deep": {deep, "deep"}, "no object": {`[]`, "object"},
	} {
		var sent []byte
		if tt.body != "" {
			sent = []byte(tt.body)
		}
		_, err := newWorld().server().wanted(http.Header{}, httptest.NewRequest(http.MethodPost, "/", nil), uuid(1), sent)
		if e := mapping.Classify(err); err == nil || e.Class == mapping.Internal || !strings.Contains(e.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
