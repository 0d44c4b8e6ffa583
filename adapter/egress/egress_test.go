package egress_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/apbridge/apbridge/adapter/egress"
)

// Redirects are not followed and cookies are not sent back.
func TestNothingLeavesForAnotherHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(other.Close)
	var seen []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	c := egress.New(http.DefaultTransport, "apbridge/test").SetHeader("Authorization", "Bearer x")
	for range 2 {
		res, err := c.R().SetBody("hello").Post(s.URL)
		if err != nil || res.StatusCode() != http.StatusTemporaryRedirect {
			t.Fatal(res, err)
		}
		if raw, err := io.ReadAll(res.RawBody()); err != nil || res.RawBody().Close() != nil || len(res.Body()) != 0 {
			t.Errorf("the body was read before: %q, %v", raw, err)
		}
	}
	for _, r := range seen {
		if r.UserAgent() != "apbridge/test" || len(r.Cookies()) != 0 {
			t.Errorf("%v", r.Header)
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d requests, want 2", len(seen))
	}
}
