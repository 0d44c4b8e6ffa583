package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a writer that records the newest deadline of the body.
type deadlines struct {
	http.ResponseWriter
	at  time.Time
	set int // how often one was set
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.at, d.set = at, d.set+1
	return nil
}

// hesitant is a body whose pieces arrive after a while.
type hesitant struct{ wait time.Duration }

func (h hesitant) Read(b []byte) (int, error) {
	time.Sleep(h.wait)
	return len(b), nil
}

// TestEndedBodyHasNoDeadline checks reads after the end, such as those of net/http when it writes a body of known
// length. They would set a deadline that has passed.
func TestEndedBodyHasNoDeadline(t *testing.T) {
	t.Parallel()
	d := &deadlines{ResponseWriter: httptest.NewRecorder()}
	p := &pacedBody{ReadCloser: io.NopCloser(strings.NewReader("{}")), control: http.NewResponseController(d), patience: time.Minute, latest: time.Now()}
	if _, err := io.ReadAll(p); err != nil {
		t.Fatal(err)
	}
	set := d.set
	if _, err := p.Read(make([]byte, 1)); err != io.EOF || d.set != set || !d.at.IsZero() {
		t.Errorf("read again: %v, after %d more deadlines", err, d.set-set)
	}
}

// TestUnreadUploadsAreNotTimed checks that an upload whose client has used up nearly all of its time does
// not expire while the bridge itself waits, for example because of a rate.
func TestUnreadUploadsAreNotTimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{ResponseWriter: httptest.NewRecorder()}
		p := &pacedBody{ReadCloser: io.NopCloser(hesitant{25 * time.Second}), control: http.NewResponseController(d), patience: 30 * time.Second, rate: 1000, left: 30 * time.Second}
		if _, err := p.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(d.at); left < 30*time.Second {
			t.Errorf("the bridge has %s left to read", left)
		}
		p.extend(time.Now())
		if left := time.Until(d.at); left > 6*time.Second {
			t.Errorf("the client has %s left for the next piece", left)
		}
	})
}
