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
	// tries is how often a delivery is attempted: with firstRetry doubled each time, over about an hour.
	tries      = 8
	firstRetry = 30 * time.Second
	// attemptTimeout bounds one attempt, lease how long after a claim another process believes that ours is gone.
	attemptTimeout = 15 * time.Second
	lease          = 4 * attemptTimeout
	// atOnce bounds attempts under way, atOnceHost those to one receiver, so that a slow one leaves room for others.
	atOnce       = 16
	atOnceTenant = 12 // of one tenant
	atOnceHost   = 4
	// How long rows stay for people to look at.
	deliveredKept = 24 * time.Hour
	deadKept      = 30 * 24 * time.Hour
	// longestWait bounds how long the outbox goes unlooked at.
	longestWait = time.Minute
	retryStore  = time.Second
)

// Sender delivers what is in the outbox. Safe for concurrent use.
type Sender struct {
	deliveries *store.Outbox
	runs       *store.Runs
	client     *resty.Client
	cfg        atomic.Pointer[config.Webhooks]
	metrics    *metrics.Metrics
	log        *zap.Logger
	backoff    func(attempts int) time.Duration
	tracer     *trace.Tracer       // may be nil
	unread     logthrottle.Limiter // of the outbox; Run's goroutine only

	mu      sync.Mutex
	hosts   map[string]int // attempts under way
	tenants map[string]int // the same
	all     int
	freed   chan struct{} // rung when an attempt is over
}

// New returns a Sender; nothing is sent before Run. agent is its User-Agent.
func New(deliveries *store.Outbox, runs *store.Runs, cfg config.Webhooks, agent string, m *metrics.Metrics, log *zap.Logger) *Sender {
	s := &Sender{deliveries: deliveries, runs: runs, metrics: m, log: log, backoff: backoff, hosts: map[string]int{}, tenants: map[string]int{}, freed: make(chan struct{}, 1)}
	s.cfg.Store(&cfg)
	s.client = newClient(func() bool { return s.cfg.Load().AllowPrivateNetworks }, agent)
	return s
}

// Reconfigure has the next attempts made by another configuration.
func (s *Sender) Reconfigure(cfg config.Webhooks) {
	s.cfg.Store(&cfg)
	s.client.GetClient().CloseIdleConnections() // one may lead where none may lead any more
}

// backoff is the pause after so many failed attempts: exponential, and spread by a fifth each way so that receivers are
// not met by everything at once.
func backoff(attempts int) time.Duration {
	d := firstRetry << min(attempts-1, tries)
	return min(time.Duration(float64(d)*(0.8+0.4*rand.Float64())), store.LongestDeliveryWait)
}

// Trace has spans made of attempts; nil: none. It must be called before Run.
func (s *Sender) Trace(t *trace.Tracer) { s.tracer = t }

// Run delivers until ctx ends. Attempts under way are then given back and made again by the next process.
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

// start begins attempts at what is due, and says how long there is nothing more to begin.
func (s *Sender) start(ctx context.Context, attempts *sync.WaitGroup) time.Duration {
	room := s.room()
	if room == 0 {
		return longestWait // until one is over
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

// pause waits for the doorbell, for room, or for d to pass.
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

// pick reports whether one more attempt at the host may begin for the tenant, those in hosts and tenants included.
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
