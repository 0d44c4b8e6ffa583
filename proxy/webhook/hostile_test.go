package webhook

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
)

// TestPrivateAddressIsRefusedAtConnectTime checks that a host that passes the check at creation is refused when the
// sender connects to it. "localhost" stands for any name that resolves to a private address by then. Being listed in
// webhooks.hosts does not help.
func TestPrivateAddressIsRefusedAtConnectTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, status(200))
	b.send(config.Webhooks{Hosts: []string{"localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1"}}, time.Millisecond)
	port := url[strings.LastIndexByte(url, ':'):]
	for _, u := range []string{url, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://[::1]" + port} {
		d := b.until(b.hooked(u), done)
		if !d.Dead() || d.Attempts != 1 || !strings.Contains(d.Error, "private network") {
			t.Errorf("%s: %+v", u, d)
		}
	}
	if len(got) != 0 {
		t.Error("the receiver was reached")
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inner, reached := receiver(t, status(200))
	outer, got := receiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner, http.StatusTemporaryRedirect)
	})
	b.send(local, time.Millisecond)
	d := b.until(b.hooked(outer), done)
	if !d.Dead() || !strings.Contains(d.Error, "redirects are not followed") || len(reached) != 0 || len(got) != tries {
		t.Errorf("%+v, %d at the first, %d at the second", d, len(got), len(reached))
	}
}

func TestOtherSchemesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.send(local, time.Millisecond)
	for _, u := range []string{"file:///etc/passwd", "gopher://127.0.0.1/"} {
		if d := b.until(b.hooked(u), done); !d.Dead() || !strings.Contains(d.Error, "protocol scheme") {
			t.Errorf("%s: %+v", u, d)
		}
	}
}

// TestEndlessAnswerIsCutOff checks that an endless response body is not read and does not count against the receiver.
func TestEndlessAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over := make(chan struct{})
	url, _ := receiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		defer close(over)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	b.send(local, time.Millisecond)
	if d := b.until(b.hooked(url), done); d.Dead() {
		t.Errorf("%+v", d)
	}
	<-over
}
