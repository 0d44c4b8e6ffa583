package embedding

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter/egress"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	"github.com/go-resty/resty/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
)

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxHeader   = 64 << 10
	// queriesKept limits the cache of queries' vectors, since pages and people repeat queries.
	queriesKept = 256
	// rest is the time for which no queries are sent after a failed one, so that searches do not wait for an endpoint
	// that is down.
	rest = 5 * time.Second
)

// Client converts texts to vectors of length 1. It follows no redirect and keeps no cookie, so that key and headers
// never reach another host. Safe for concurrent use.
type Client struct {
	cfg     config.Index
	secrets credential.Set
	rc      *resty.Client
	target  string
	log     *zap.Logger
	queries *lru.Cache[string, []float32]

	// coded is set after a response in base64. plain is set if the endpoint does not accept encoding_format.
	coded, plain atomic.Bool

	now     func() time.Time
	mu      sync.Mutex
	room    int       // maximum size of the texts in the next request with several texts, in bytes
	failing bool      // the newest probe failed
	until   time.Time // no query is sent before
	why     error
	said    logthrottle.Limiter
}

// New returns a client for the endpoint of cfg, which must be On. agent is its User-Agent. It does no I/O.
func New(cfg config.Index, agent string, log *zap.Logger) *Client {
	queries, err := lru.New[string, []float32](queriesKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &Client{cfg: cfg, secrets: cfg.Credentials(), rc: newResty(cfg, agent), target: targetOf(cfg), log: log, queries: queries, now: time.Now, room: int(cfg.BatchBytes)}
}

func newResty(cfg config.Index, agent string) *resty.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	c := egress.New(&http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout,
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true,
	}, agent)
	c.SetHeader("Accept", "application/json").SetHeader("Content-Type", "application/json")
	switch key := cfg.Key.Reveal(); {
	case key == "":
	case azure(cfg):
		c.SetHeader("api-key", key)
	default:
		c.SetHeader("Authorization", "Bearer "+key)
	}
	for name, secret := range cfg.Headers {
		c.SetHeader(name, secret.Reveal())
	}
	return c
}

// azure reports whether the key is sent as Azure expects it.
func azure(cfg config.Index) bool { return cfg.APIVersion != "" || cfg.Provider() == "azure_openai" }

// targetOf returns the whole URL. Azure's deployments have their own path and version.
func targetOf(cfg config.Index) string {
	root := strings.TrimRight(cfg.URL, "/")
	if cfg.APIVersion == "" {
		return root + "/embeddings"
	}
	return root + "/openai/deployments/" + url.PathEscape(cfg.Model()) + "/embeddings?api-version=" + url.QueryEscape(cfg.APIVersion)
}

// CloseIdle closes unused connections.
func (c *Client) CloseIdle() { c.rc.GetClient().CloseIdleConnections() }

// Query returns the vector of a search's text. After a failure that is not caused by the text it fails at once for a
// few seconds, and logs that searches do without vectors. Callers must not change the vector.
func (c *Client) Query(ctx context.Context, text string) ([]float32, error) {
	if v, ok := c.queries.Get(text); ok {
		return v, nil
	}
	if err := c.resting(); err != nil {
		return nil, err
	}
	v, err := c.query(ctx, c.cfg.QueryPrefix+text)
	if err != nil {
		return nil, err
	}
	c.queries.Add(text, v)
	return v, nil
}

// query requests the vector of a search's text while the search waits: once, and for its beginning if it may be too
// long.
func (c *Client) query(ctx context.Context, text string) ([]float32, error) {
	list, err := c.ask(ctx, []string{text}, 1)
	if err == nil {
		c.note(nil)
		return list[0], nil
	}
	down := c.down(ctx, err, 1)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.note(down)
	var f *failure
	if down != nil || errors.As(err, &f) && f.late {
		return nil, err
	}
	return c.shorten(ctx, text, err, 1)
}

func (c *Client) resting() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Before(c.until) {
		return c.why
	}
	return nil
}

// note records the result of a query.
func (c *Client) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.said.Reset()
		return
	}
	c.until, c.why = c.now().Add(rest), err
	if c.said.Allow() {
		c.log.Warn("query could not be embedded; searching the store by words only", zap.Error(err), c.said.Suppressed())
	}
}
