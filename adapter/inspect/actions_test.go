package inspect

import (
	"context"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// late is a service in which another person answers before the answer of the test.
type late struct {
	adapter.Service // nil: other methods are not called

	open bool
}

var lateQuestion = mapping.Interrupt{ID: "q", Value: []byte(`"?"`), Run: "asks"}

func (l *late) GetThread(context.Context, string) (t mapping.Thread, err error) {
	t.ID = "t"
	if l.open {
		t.Interrupts = []mapping.Interrupt{lateQuestion}
	}
	return t, nil
}

func (l *late) ListRuns(context.Context, mapping.RunQuery) iter.Seq2[mapping.Run, error] {
	return func(yield func(mapping.Run, error) bool) {
		yield(mapping.Run{ID: "first", Owner: "bob", CreatedAt: time.Now(), Options: mapping.RunOptions{Resuming: true, Asked: []mapping.Interrupt{lateQuestion}}}, nil)
	}
}

func (l *late) GetRun(context.Context, adapter.RunRef) (*mapping.Run, error) {
	return &mapping.Run{ID: "asks", Agent: "a"}, nil
}

func (l *late) StartRun(context.Context, *adapter.RunRequest) (*adapter.Started, error) {
	l.open = false
	return nil, mapping.Errorf(mapping.Conflict, mapping.CodeThreadBusy, "busy")
}

// The question is open when the form is read.
func TestLateAnswerNamesTheFirst(t *testing.T) {
	t.Parallel()
	l := &late{open: true}
	r := mux.NewRouter()
	Mount(r, Options{Service: l, Log: zap.NewNop()})
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/inspect/threads/t/answer", strings.NewReader("question=q&words=x&sure=yes"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	if w.Code != 409 || !strings.Contains(w.Body.String(), "answered already") || !strings.Contains(w.Body.String(), "bob") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A body of another type is refused instead of read as an empty form.
func TestOnlyFormsAreAccepted(t *testing.T) {
	t.Parallel()
	l := &late{open: true}
	r := mux.NewRouter()
	Mount(r, Options{Service: l, Log: zap.NewNop()})
	for _, contentType := range []string{"", "text/plain", "application/json", "application/x-www-form-urlencoded; charset=latin1"} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/inspect/runs/asks/cancel", strings.NewReader("sure=yes"))
		req.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if w.Code != 415 || !strings.Contains(w.Body.String(), `"unsupported_content_type"`) {
			t.Errorf("%q: %d %s", contentType, w.Code, w.Body)
		}
	}
}

// gone is a service whose only run belongs to an agent that was removed from the configuration.
type gone struct{ adapter.Service }

func (gone) SearchAssistants(context.Context, adapter.AgentQuery) ([]mapping.Assistant, int, error) {
	return []mapping.Assistant{{Graph: "a", Configured: true}}, 1, nil
}

func (gone) GetRun(context.Context, adapter.RunRef) (*mapping.Run, error) {
	return &mapping.Run{ID: "r", Agent: "gone", Options: mapping.RunOptions{Input: []byte(`"` + strings.Repeat("x", maxEdit) + `"`)}}, nil
}

// The form of the removed agent's run selects that agent and not another one.
func TestRemovedAgentIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/runs/r/again", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	s := newServer(Options{Service: gone{}})
	if err := s.againPage(w, r); err != nil || !strings.Contains(w.Body.String(), `<option value="gone" selected>`) {
		t.Errorf("%v %s", err, w.Body)
	}
}
