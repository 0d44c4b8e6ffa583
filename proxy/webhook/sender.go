package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/apbridge/apbridge/proxy/metrics"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/trace"
	"github.com/go-resty/resty/v2"
	"go.uber.org/zap"
)

const (
	// tries is the number of attempts for a delivery. The pauses start at firstRetry and double, so the attempts take
	// about an hour.
	tries      = 8
	firstRetry = 30 * time.Second
	// attemptTimeout bounds one attempt. lease is the time after a claim at which another process assumes that ours is
	// gone.
	attemptTimeout = 15 * time.Second
	lease          = 4 * attemptTimeout
	// atOnce limits concurrent attempts. atOnceHost limits those to one receiver, so that a slow receiver does not
	// block others.
	atOnce       = 16
	atOnceTenant = 12 // to receivers of one tenant
	atOnceHost   = 4
	// The time for which finished rows are kept for operators.
	deliveredKept = 24 * time.Hour
	deadKept      = 30 * 24 * time.Hour
	// longestWait is the maximum interval at which the outbox is read.
	longestWait = time.Minute
	retryStore  = time.Second
)

// Sender delivers the outbox. Safe for concurrent use.
type Sender struct {
	deliveries *store.Outbox
	runs       *store.Runs
	client     *resty.Client
	cfg        atomic.Pointer[config.Webhooks]
	metrics    *metrics.Metrics
	log        *zap.Logger
	backoff    func(attempts int) time.Duration
	tracer     *trace.Tracer       // may be nil
	unread     logthrottle.Limiter // errors of reading the outbox; only for Run's goroutine

	mu      sync.Mutex
	hosts   map[string]int // attempts in progress by host
	tenants map[string]int // by tenant
	all     int
	freed   chan struct{} // signalled when an attempt ends
}

// New returns a Sender. It sends nothing before Run. agent is its User-Agent.
func New(deliveries *store.Outbox, runs *store.Runs, cfg config.Webhooks, agent string, m *metrics.Metrics, log *zap.Logger) *Sender {
	s := &Sender{deliveries: deliveries, runs: runs, metrics: m, log: log, backoff: backoff, hosts: map[string]int{}, tenants: map[string]int{}, freed: make(chan struct{}, 1)}
	s.cfg.Store(&cfg)
	s.client = newClient(func() bool { return s.cfg.Load().AllowPrivateNetworks }, agent)
	return s
}

// Reconfigure changes the configuration for the next attempts.
func (s *Sender) Reconfigure(cfg config.Webhooks) {
	s.cfg.Store(&cfg)
	s.client.GetClient().CloseIdleConnections() // their targets may no longer be allowed
}

// backoff returns the pause after a number of failed attempts. It is exponential, with a random deviation of a fifth,
// so that retries are spread.
func backoff(attempts int) time.Duration {
	d := firstRetry << min(attempts-1, tries)
	return min(time.Duration(float64(d)*(0.8+0.4*rand.Float64())), store.LongestDeliveryWait)
}

// Trace enables spans of attempts; nil disables them. It must be called before Run.
func (s *Sender) Trace(t *trace.Tracer) { s.tracer = t }

// Run delivers until ctx ends. Attempts in progress are then released, and repeated by the next process.
func (s *Sender) Run(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	defer s.client.GetClient().CloseIdleConnections()
	swept := time.Time{}
	for ctx.Err() == nil {
		if time.Since(swept) > time.Hour {
			swept = time.Now()
			s.sweep(ctx)
		}
		s.pause(ctx, s.start(ctx, &attempts))
	}
}

// start starts due attempts, and returns the time until the next one.
func (s *Sender) start(ctx context.Context, attempts *sync.WaitGroup) time.Duration {
	room := s.room()
	if room == 0 {
		return longestWait // until an attempt ends
	}
	hosts, tenants := map[string]int{}, map[string]int{}
	list, wait, err := s.deliveries.Claim(ctx, room, lease, func(tenant, url string) bool { return s.pick(hosts, tenants, hostOf(url), tenant) })
	if err != nil {
		if ctx.Err() == nil && s.unread.Allow() {
			s.log.Error("could not read the outbox; retrying", zap.Error(err), s.unread.Suppressed())
		}
		return retryStore
	}
	s.unread.Reset()
	for _, d := range list {
		s.enter(hostOf(d.URL), d.Tenant)
		attempts.Add(1)
		go func() {
			defer attempts.Done()
			defer s.leave(hostOf(d.URL), d.Tenant)
			s.attempt(ctx, d)
		}()
	}
	if len(list) > 0 {
		return 0
	}
	if wait == 0 || wait > longestWait {
		return longestWait
	}
	return wait
}

// pause waits for a signal of the outbox, for a free slot, or until d has passed.
func (s *Sender) pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.deliveries.Changed():
	case <-s.freed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Sender) room() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return atOnce - s.all
}

// pick reports whether another attempt to the host may start for the tenant, and counts it in hosts and tenants.
func (s *Sender) pick(hosts, tenants map[string]int, host, tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts[host]+hosts[host] >= atOnceHost || s.tenants[tenant]+tenants[tenant] >= atOnceTenant {
		return false
	}
	hosts[host]++
	tenants[tenant]++
	return true
}

func (s *Sender) enter(host, tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[host]++
	s.tenants[tenant]++
	s.all++
}

func (s *Sender) leave(host, tenant string) {
	s.mu.Lock()
	s.all--
	if s.hosts[host]--; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
	if s.tenants[tenant]--; s.tenants[tenant] == 0 {
		delete(s.tenants, tenant)
	}
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func (s *Sender) sweep(ctx context.Context) {
	if err := s.deliveries.Sweep(ctx, deliveredKept, deadKept); err != nil && ctx.Err() == nil {
		s.log.Warn("outbox could not be swept", zap.Error(err))
	}
}
