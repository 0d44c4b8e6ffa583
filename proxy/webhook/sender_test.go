package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { adaptertest.Main(m, blank.Drop) }

var local = config.Webhooks{AllowPrivateNetworks: true, Secret: "a secret of the receiver's"}

type harness struct {
	t    *testing.T
	st   *store.Store
	path string
}

func open(t *testing.T, path string) *harness {
	t.Helper()
	st, err := store.Open(t.Context(), path, store.Options{Synchronous: storetest.Synchronous()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	b := &harness{t, st, path}
	t.Cleanup(func() { _ = st.Close() })
	return b
}

func setup(t *testing.T) *harness {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "a.db"))
}

// hooked ends a run with a webhook to url, and returns the run's id.
func (b *harness) hooked(url string) string {
	b.t.Helper()
	id, thread := mapping.NewID(), mapping.NewID()
	c, err := b.st.Runs.Create(b.t.Context(), &store.CreateRun{
		Run: mapping.Run{ID: id, ThreadID: thread, TaskID: id, Agent: "a"}, Thread: &mapping.Thread{ID: thread},
		Task: &mapping.Task{ID: id, Agent: "a"}, Claim: true,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	out := mapping.Outcome{Status: mapping.RunSuccess}
	_, _, err = b.st.Events.Append(b.t.Context(), store.Append{
		ThreadID: thread, RunID: id, Fence: c.Claimed.Fence, Events: []mapping.Event{{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &out}}},
		End: &store.End{Outcome: out, Thread: out.Thread(), Webhook: &store.Webhook{URL: url, Body: []byte(`{"run_id":"` + id + `"}`)}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// send runs a sender until the returned stop is called, or the test ends.
func (b *harness) send(cfg config.Webhooks, pause time.Duration) (stop func()) {
	_, stop = b.start(cfg, pause)
	return stop
}

// sender returns a sender that runs until the test ends.
func (b *harness) sender(cfg config.Webhooks, pause time.Duration) *Sender {
	s, _ := b.start(cfg, pause)
	return s
}

func (b *harness) start(cfg config.Webhooks, pause time.Duration) (s *Sender, stop func()) {
	s = New(b.st.Deliveries, b.st.Runs, cfg, "apbridge/test", nil, zap.NewNop())
	s.backoff = func(int) time.Duration { return pause }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	b.t.Cleanup(stop)
	return s, stop
}

func (b *harness) delivery(runID string) store.Delivery {
	b.t.Helper()
	list, err := b.st.Deliveries.List(context.Background(), runID, 0)
	if err != nil || len(list) != 1 {
		b.t.Fatalf("deliveries of the run: %v, %v", list, err)
	}
	return list[0]
}

// until waits for a delivery that matches.
func (b *harness) until(runID string, want func(store.Delivery) bool) store.Delivery {
	b.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		d := b.delivery(runID)
		if want(d) {
			return d
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("delivery stays %+v", d)
		}
	}
}

func done(d store.Delivery) bool { return !d.Done.IsZero() }

type received struct {
	header http.Header
	body   string
}

// receiver records its requests and responds to them.
func receiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (url string, got chan received) {
	t.Helper()
	got = make(chan received, 100)
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.Header.Clone(), string(body)}
		answer(int(n.Add(1)), w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/hook?token=canary", got
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestDeliveryHasSignatureAndID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, status(204))
	b.send(local, time.Millisecond)
	run := b.hooked(url)
	r := <-got
	if r.body != `{"run_id":"`+run+`"}` || r.header.Get("Content-Type") != "application/json" || r.header.Get("User-Agent") != "apbridge/test" {
		t.Errorf("got %+v", r)
	}
	var seconds int64
	if _, err := fmt.Sscanf(r.header.Get("X-Apbridge-Signature"), "t=%d,", &seconds); err != nil {
		t.Fatal(err)
	}
	if want := Sign([]string{"a secret of the receiver's"}, time.Unix(seconds, 0), r.header.Get("X-Apbridge-Delivery"), []byte(r.body)); r.header.Get("X-Apbridge-Signature") != want {
		t.Errorf("signature %s, want %s", r.header.Get("X-Apbridge-Signature"), want)
	}
	d := b.until(run, done)
	if d.Dead() || d.Attempts != 1 || d.ID != r.header.Get("X-Apbridge-Delivery") || r.header.Get("X-Apbridge-Attempt") != "1" {
		t.Errorf("%+v, %v", d, r.header)
	}
}

func TestSignatureFormat(t *testing.T) {
	t.Parallel()
	// From openssl dgst -sha256 -hmac key, for printf '1700000000.{}' and for printf '1700000000.7.{}'.
	want := "t=1700000000,v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae,v2=7d77906aa04e21e7594d136aeb6a5f54936f92be467435916bcc94485b6bca93"
	at := time.Unix(1_700_000_000, 0)
	got := Sign([]string{"key"}, at, "7", []byte("{}"))
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got == Sign([]string{"other"}, at, "7", []byte("{}")) || got == Sign([]string{"key"}, at.Add(time.Second), "7", []byte("{}")) || got == Sign([]string{"key"}, at, "8", []byte("{}")) || got == Sign([]string{"key"}, at, "7", []byte("[]")) {
		t.Error("key, time, delivery or body do not matter")
	}
	before := strings.TrimPrefix(Sign([]string{"before"}, at, "7", []byte("{}")), "t=1700000000")
	if both := Sign([]string{"key", "before"}, at, "7", []byte("{}")); both != got+before {
		t.Errorf("with two secrets: %s", both)
	}
	if Sign(nil, at, "7", nil) != "" {
		t.Error("signed without a secret")
	}
}

// TestSecretsAreRotated checks that the next attempt is signed with both, without a restart.
func TestSecretsAreRotated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, status(204))
	s := b.sender(local, time.Millisecond)
	s.Reconfigure(config.Webhooks{AllowPrivateNetworks: true, Secret: "new", PreviousSecret: local.Secret})
	b.hooked(url)
	r := <-got
	signed := r.header.Get("X-Apbridge-Signature")
	if strings.Count(signed, ",v2=") != 2 || !strings.HasSuffix(signed, sum(local.Secret.Reveal(), seconds(t, signed)+"."+r.header.Get("X-Apbridge-Delivery")+".", []byte(r.body))) {
		t.Errorf("signature %s", signed)
	}
}

// TestHostsRemovedFromTheConfiguration checks that a waiting delivery is given up when its host is no longer allowed.
func TestHostsRemovedFromTheConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, status(500))
	s := b.sender(local, time.Millisecond)
	run := b.hooked(url)
	<-got
	s.Reconfigure(config.Webhooks{AllowPrivateNetworks: true, Hosts: []string{"hooks.example.com"}})
	if d := b.until(run, done); !d.Dead() || !strings.Contains(d.Error, "webhooks.hosts") {
		t.Errorf("%+v", d)
	}
}

// TestPrivateNetworksRemovedFromTheConfiguration checks that an open connection is not reused.
func TestPrivateNetworksRemovedFromTheConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, status(204))
	s := b.sender(local, time.Millisecond)
	b.until(b.hooked(url), done)
	<-got
	s.Reconfigure(config.Webhooks{})
	if d := b.until(b.hooked(url), done); !d.Dead() || !strings.Contains(d.Error, "private network") {
		t.Errorf("%+v", d)
	}
}

func seconds(t *testing.T, signed string) string {
	t.Helper()
	at, _, ok := strings.Cut(strings.TrimPrefix(signed, "t="), ",")
	if !ok {
		t.Fatalf("no time in %q", signed)
	}
	return at
}

func TestDeliveryToAFailingReceiverIsRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			w.WriteHeader(500)
		}
	})
	b.send(local, time.Millisecond)
	d := b.until(b.hooked(url), done)
	if d.Dead() || d.Attempts != 3 || d.Error != "" || len(got) != 3 {
		t.Errorf("%+v, %d received", d, len(got))
	}
	for range 3 {
		if r := <-got; r.header.Get("X-Apbridge-Delivery") != d.ID {
			t.Errorf("an attempt under id %s, want %s", r.header.Get("X-Apbridge-Delivery"), d.ID)
		}
	}
}

func TestDeliveryToADeadReceiverIsGivenUpWithTheLastError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	srv := httptest.NewServer(http.NotFoundHandler())
	down := srv.URL + "/?token=canary"
	srv.Close()
	failing, _ := receiver(t, status(503))
	gone, _ := receiver(t, status(410))
	b.send(local, time.Millisecond)
	for url, want := range map[string]struct {
		attempts int
		why      string
	}{down: {tries, "connection refused"}, failing: {tries, "HTTP 503"}, gone: {1, "HTTP 410"}} {
		d := b.until(b.hooked(url), done)
		if !d.Dead() || d.Attempts != want.attempts || !strings.Contains(d.Error, want.why) || strings.Contains(d.Error, "canary") {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}

func TestLastErrorIsVisibleBetweenAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, _ := receiver(t, status(500))
	b.send(local, time.Hour)
	d := b.until(b.hooked(url), func(d store.Delivery) bool { return d.Error != "" })
	if done(d) || d.Error != "HTTP 500" || d.Due.Before(time.Now().Add(50*time.Minute)) {
		t.Errorf("%+v", d)
	}
}

func TestSlowReceiverDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := make(chan struct{})
	slow, _ := receiver(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	quick, _ := receiver(t, status(200))
	t.Cleanup(func() { close(release) })
	for range atOnce + atOnceHost {
		b.hooked(slow)
	}
	b.send(local, time.Hour)
	b.until(b.hooked(quick), done)
	list, err := b.st.Deliveries.List(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	for _, d := range list {
		if d.URL == slow {
			begun += d.Attempts
		}
	}
	if begun > atOnceHost {
		t.Errorf("%d attempts at the slow one at once", begun)
	}
}

func TestDeliveryWithALostReplyIsRepeatedUnderTheSameID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 { // it received the delivery, and is cut off before its answer
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		}
	})
	b.send(local, time.Millisecond)
	d := b.until(b.hooked(url), done)
	first, second := <-got, <-got
	if d.Dead() || d.Attempts != 2 || len(got) != 0 {
		t.Errorf("%+v", d)
	}
	if a, b := first.header.Get("X-Apbridge-Delivery"), second.header.Get("X-Apbridge-Delivery"); a != b || a == "" || first.body != second.body {
		t.Errorf("%s %s", a, b)
	}
}

func TestInterruptedAttemptIsRepeatedAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, got := receiver(t, func(n int, _ http.ResponseWriter, r *http.Request) {
		if n == 1 {
			<-r.Context().Done()
		}
	})
	stop := b.send(local, time.Millisecond)
	run := b.hooked(url)
	first := <-got
	stop()
	if d := b.delivery(run); done(d) || d.Attempts != 0 {
		t.Fatalf("%+v", d)
	}
	_ = b.st.Close()
	b = open(t, b.path)
	b.send(local, time.Millisecond)
	second := <-got
	if d := b.until(run, done); d.Dead() || second.header.Get("X-Apbridge-Delivery") != first.header.Get("X-Apbridge-Delivery") {
		t.Errorf("%+v", d)
	}
}

// Many slow receivers of one tenant do not block those of others.
func TestTenantCannotUseAllAttempts(t *testing.T) {
	t.Parallel()
	s := New(nil, nil, config.Webhooks{}, "", nil, zap.NewNop())
	begun := 0
	for n := range 2 * atOnce {
		hosts, tenants := map[string]int{}, map[string]int{}
		if host := fmt.Sprint("host", n); s.pick(hosts, tenants, host, "a") {
			s.enter(host, "a")
			begun++
		}
	}
	if begun != atOnceTenant || !s.pick(map[string]int{}, map[string]int{}, "host", "b") {
		t.Errorf("%d attempts were begun for one tenant, want %d and room for another", begun, atOnceTenant)
	}
	s.leave("host0", "a")
	if !s.pick(map[string]int{}, map[string]int{}, "host", "a") {
		t.Error("there is no room for the tenant after one of its attempts has ended")
	}
}
