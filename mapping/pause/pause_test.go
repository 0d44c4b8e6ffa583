package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
)

var errShut = errors.New("shut")

// TestPauses checks that a wait ends with its duration, its channel or its context, whichever comes first, and returns
// the right error.
func TestPauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bell, end time.Duration // 0 means never
		want      time.Duration
		err       error
	}{
		"the time passes":              {want: time.Hour},
		"it rings before":              {bell: time.Minute, want: time.Minute},
		"it rings too late":            {bell: 2 * time.Hour, want: time.Hour},
		"the context ends":             {end: time.Minute, want: time.Minute, err: errShut},
		"the context ends too late":    {end: 2 * time.Hour, want: time.Hour},
		"it rings, and then it ends":   {bell: time.Minute, end: 2 * time.Minute, want: time.Minute},
		"it ends, and then it rings":   {bell: 2 * time.Minute, end: time.Minute, want: time.Minute, err: errShut},
		"it ends in the last instants": {end: time.Hour - 1, want: time.Hour - 1, err: errShut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				bell := make(chan struct{})
				after(c.bell, func() { close(bell) })
				after(c.end, func() { end(errShut) })
				began := time.Now()
				err := pause.Until(ctx, time.Hour, bell)
				if took := time.Since(began); took != c.want || !errors.Is(err, c.err) {
					t.Errorf("it took %v and ended with %v, want %v and %v", took, err, c.want, c.err)
				}
			})
		})
	}
}

// TestForNeedsNoChannel checks that For needs no channel.
func TestForNeedsNoChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause.For(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("it took %v and ended with %v", time.Since(began), err)
		}
		ctx, end := context.WithCancelCause(t.Context())
		end(errShut)
		if err := pause.For(ctx, time.Hour); !errors.Is(err, errShut) || time.Since(began) != time.Hour {
			t.Errorf("after the end of the context it ended with %v, %v later", err, time.Since(began)-time.Hour)
		}
	})
}

func after(d time.Duration, do func()) {
	if d > 0 {
		time.AfterFunc(d, do)
	}
}
