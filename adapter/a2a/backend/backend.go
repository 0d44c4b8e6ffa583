package backend

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// backend calls one A2A agent.
type backend struct {
	up        adapter.Upstream
	to        *upstream.Client
	host      string // scheme and host of the agent's URL
	authority string // its host and port, for messages
	path      string // its path, without a trailing slash
	reader    *wire.Reader
	log       *zap.Logger

	mu    sync.Mutex
	known *endpoint // nil: not read yet
}

var (
	_ adapter.Canceler  = (*backend)(nil)
	_ adapter.Prober    = (*backend)(nil)
	_ adapter.Profiled  = (*backend)(nil)
	_ adapter.Traited   = (*backend)(nil)
	_ adapter.Versioned = (*backend)(nil)
)

const (
	defaultEvent = 16 << 20
	maxDepth     = 200
	maxElements  = 10_000
)

// Dial returns the backend of an A2A agent. It does no I/O. An error is a *mapping.Error of class Invalid about the URL.
func Dial(up adapter.Upstream) (adapter.Backend, error) { return newBackend(up) }

func newBackend(up adapter.Upstream) (*backend, error) {
	u, err := url.Parse(up.Config.URL)
	if err != nil || u.Host == "" {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "url of agent %q is not an absolute URL.", up.Name)
	}
	limit := int(up.Limits.Event)
	if limit <= 0 {
		limit = defaultEvent
	}
	b := &backend{
		up: up, host: u.Scheme + "://" + u.Host, authority: u.Host, path: strings.TrimRight(u.EscapedPath(), "/"), log: up.Log,
		reader: wire.NewLenientReader(wire.Limits{Bytes: limit, Depth: maxDepth, Count: maxElements}),
	}
	if b.log == nil {
		b.log = zap.NewNop()
	}
	b.to = upstream.New(up, upstream.Options{Root: b.host, Limit: int64(limit)})
	return b, nil
}

// Detect reports whether a server has an agent card at its well-known path (S 8.2).
func Detect(ctx context.Context, up adapter.Upstream) (bool, error) {
	b, err := newBackend(up)
	if err != nil {
		return false, err
	}
	defer b.to.CloseIdle()
	_, err = b.readCard(ctx)
	if upstream.Is(err, upstream.Refused) && !upstream.Unwilling(upstream.Status(err)) || upstream.Is(err, upstream.BadAnswer) || errors.Is(err, errNoCard) {
		return false, nil
	}
	if err != nil {
		return false, b.failure(err)
	}
	return true, nil
}

// Traits returns the traits of an A2A agent: it remembers the conversation of a context but shows no state.
func (b *backend) Traits() adapter.Traits {
	return adapter.Traits{Exposes: mapping.ExposesHistory, Stepping: mapping.SteppingFree, TakesExtras: true, Kind: "an A2A agent", Capabilities: Capabilities()}
}

// Probe reads the agent's card, or finds that the agent answers without one.
func (b *backend) Probe(ctx context.Context) error {
	b.forget()
	_, err := b.endpoint(ctx)
	return err
}

// Profile returns the version and binding by which the agent is called.
func (b *backend) Profile() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		return ""
	}
	return b.known.profile()
}

// Version returns the agent's version from its card.
func (b *backend) Version(ctx context.Context) (string, error) {
	e, err := b.endpoint(ctx)
	if err != nil {
		return "", err
	}
	return e.agentVersion, nil
}

// Run sends one message and yields the events of its task until the task has ended or asks.
func (b *backend) Run(ctx context.Context, t *adapter.Assignment) iter.Seq2[mapping.Event, error] {
	return func(yield func(mapping.Event, error) bool) {
		r := newRun(ctx, b, t, yield)
		err := r.run()
		if err != nil && !errors.Is(err, errUnwanted) && !errors.Is(r.output.flush(false), errUnwanted) {
			yield(mapping.Event{}, b.failure(err))
		}
	}
}

// Cancel requests the cancellation of a task (S 3.1.5). A task that has ended, or that the agent does not know, is not
// an error.
func (b *backend) Cancel(ctx context.Context, link mapping.Link, _ string) error {
	if link.Remote == "" {
		return nil
	}
	_, err := b.call(ctx, wire.MethodCancelTask, &wire.CancelTaskRequest{ID: link.Remote})
	if e := protocolError(err); e != nil && (e.Code == wire.CodeTaskNotCancelable || e.Code == wire.CodeTaskNotFound) {
		return nil
	}
	if err != nil {
		return b.failure(err)
	}
	return nil
}

func (b *backend) stepTimeout() time.Duration {
	if d := b.up.Config.StepTimeout; d > 0 {
		return d
	}
	return 10 * time.Minute
}

const readTimeout = 30 * time.Second // for a call that needs no work of the agent

func (b *backend) readTimeout() time.Duration { return min(readTimeout, b.stepTimeout()) }
