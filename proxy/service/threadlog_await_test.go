package service_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// A new thread is announced at once, however it is created: the clock stands still.
func TestNewThreadIsAnnouncedAtOnce(t *testing.T) {
	t.Parallel()
	run := func(w *clockwork, t *testing.T, id string, after time.Duration) error {
		_, err := w.StartRun(t.Context(), &adapter.RunRequest{
			ThreadID: id, Agent: "a", IfNotExists: "create", HasInput: true, Input: []byte(`"hi"`), RunAfter: after,
		})
		return err
	}
	for name, creates := range map[string]func(w *clockwork, t *testing.T, id string) error{
		"by itself": func(w *clockwork, t *testing.T, id string) error {
			_, err := w.CreateThread(t.Context(), adapter.ThreadRequest{ID: id})
			return err
		},
		"with a run that begins": func(w *clockwork, t *testing.T, id string) error { return run(w, t, id, 0) },
		"with a run that waits":  func(w *clockwork, t *testing.T, id string) error { return run(w, t, id, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, path string) {
				w := wind(t, path, cronAgent{})
				defer w.close()
				id, there := mapping.NewID(), make(chan error, 1)
				go func() { there <- w.AwaitThread(t.Context(), id) }()
				synctest.Wait()
				began := time.Now()
				if err := creates(w, t, id); err != nil {
					t.Fatal(err)
				}
				if err := <-there; err != nil || time.Since(began) > 0 {
					t.Errorf("it was announced after %s: %v", time.Since(began), err)
				}
			})
		})
	}
}
