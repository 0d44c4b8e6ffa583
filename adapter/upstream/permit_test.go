package upstream_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
)

var errOver = errors.New("the lease is over")

// until returns a context with a permit that is granted n times, and the number of its checks.
func until(n int64) (context.Context, *atomic.Int64) {
	ctx, end := context.WithCancelCause(context.Background())
	asked := &atomic.Int64{}
	return adapter.WithPermit(ctx, func() error {
		if asked.Add(1) > n {
			end(errOver)
			return errOver
		}
		return nil
	}), asked
}

// TestNothingIsSentWithoutAPermit checks, for each kind of connection, that nothing reaches the agent if the lease ends
// before the call or while it waits for its connection.
func TestNothingIsSentWithoutAPermit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tls, h2 bool
	}{
		"http": {}, "https": {tls: true}, "http/2": {tls: true, h2: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts, gets atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, _ = io.Copy(io.Discard, r.Body); r.Method == http.MethodPost {
					posts.Add(1)
				} else {
					gets.Add(1)
				}
			}))
			srv.EnableHTTP2 = c.h2
			if c.tls {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			t.Cleanup(srv.Close)
			client := &http.Client{Transport: upstream.Exchanging(srv.Client().Transport)}
			t.Cleanup(client.CloseIdleConnections)
			for _, body := range []string{"", `{"input":"hi"}`} {
				for _, warm := range []bool{false, true} {
					for _, granted := range []int64{0, 1} {
						client.CloseIdleConnections()
						if warm {
							drain(context.Background(), t, client, http.MethodGet, srv.URL, "")
						}
						ctx, asked := until(granted)
						if err := drain(ctx, t, client, http.MethodPost, srv.URL, body); !errors.Is(err, errOver) && ctx.Err() == nil {
							t.Errorf("body %q, warm %v, %d granted: %v, want the permit's refusal", body, warm, granted, err)
						}
						if n := asked.Load(); n <= granted {
							t.Errorf("body %q, warm %v, %d granted: the permit was checked %d times", body, warm, granted, n)
						}
					}
				}
			}
			if posts.Load() != 0 {
				t.Errorf("%d requests arrived without a permit", posts.Load())
			}
			ctx, _ := until(2)
			if err := drain(ctx, t, client, http.MethodPost, srv.URL, "x"); err != nil || posts.Load() != 1 {
				t.Errorf("with a permit: %v, %d requests arrived", err, posts.Load())
			}
			before := gets.Load()
			ctx, asked := until(0)
			if err := drain(ctx, t, client, http.MethodGet, srv.URL, ""); err != nil || gets.Load() != before+1 || asked.Load() != 0 {
				t.Errorf("a GET needs no permit: %v", err)
			}
		})
	}
}

func drain(ctx context.Context, t *testing.T, client *http.Client, method, url, body string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
