package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BenchmarkCall measures one small POST to an agent that responds at once.
func BenchmarkCall(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer srv.Close()
	rt := transport(b, time.Minute)
	one := func() {
		req, _ := http.NewRequest(http.MethodPost, srv.URL, strings.NewReader(`{"input":"hi"}`))
		res, err := rt.RoundTrip(req)
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.ReadAll(res.Body)
		res.Body.Close()
	}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			one()
		}
	})
	b.Run("many", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				one()
			}
		})
	})
}
