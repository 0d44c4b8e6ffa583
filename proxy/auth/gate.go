package auth

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"time"

	"github.com/apbridge/apbridge/mapping"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// How many wrong keys an address may send: so many at once, and one more each interval. A client with a wrong key in
// its configuration notices it long before.
const (
	wrongBurst    = 20
	wrongInterval = 6 * time.Second
)

// keptAddresses bounds what is remembered of addresses: of those that sent wrong keys, and of those that sent right
// ones.
const keptAddresses = 4096

// Gate slows down the guessing of keys. An address that has sent too many wrong keys is refused before its key is
// looked at, so that a right guess is not told from a wrong one. A key that was right from that address before still
// is: clients that share an address with a guesser go on. So does a token that its issuer has signed, since tokens are
// new every few minutes and cannot be guessed. Safe for concurrent use.
type Gate struct {
	callers *Callers
	runs    Granter // nil: no run has a token
	wrong   *lru.Cache[string, *rate.Limiter]
	right   *lru.Cache[visit, struct{}]
}

// Granter knows the tokens that agents get for the time of a run. Safe for concurrent use.
type Granter interface {
	// Granted returns the principal of a token; ok is false for any other text. The error is of class Unauthorized when
	// the token is no longer good.
	Granted(ctx context.Context, token string) (who mapping.Principal, ok bool, err error)
}

// visit is a right key from an address.
type visit struct {
	from string
	key  digest
}

// NewGate returns a Gate in front of callers and of tokens of runs; runs may be nil.
func NewGate(callers *Callers, runs Granter) (*Gate, error) {
	wrong, err := lru.New[string, *rate.Limiter](keptAddresses)
	if err != nil {
		return nil, err
	}
	right, err := lru.New[visit, struct{}](keptAddresses)
	return &Gate{callers: callers, runs: runs, wrong: wrong, right: right}, err
}

// Authenticate returns the Pass of a request that comes from an address: by x-api-key or else Authorization: Bearer
// (RFC 6750 section 2.1), which hold a key or a token, or by the certificate of its connection, where it has neither.
// Where nothing is configured the principal is the zero one, unless the request holds the token of a run. The error
// never tells the key: it is of class Unauthorized, or a *Slowed, of class Limited, when the address has to wait, or
// Unavailable while the keys of a token's issuer cannot be had.
func (g *Gate) Authenticate(r *http.Request, from string) (Pass, error) {
	text, err := presented(r.Header)
	if err == nil && g.runs != nil {
		if who, ok, err := g.runs.Granted(r.Context(), text); ok || err != nil {
			return Pass{Principal: who}, err
		}
	}
	if !g.callers.Required() {
		return Pass{life: g.callers.anyone}, nil
	}
	if errors.Is(err, errMissing) {
		if pass, ok := g.callers.shown(r.TLS); ok {
			return pass, nil
		}
	}
	if err != nil {
		return Pass{}, err
	}
	return g.tried(r.Context(), text, network(from))
}

// tried returns the Pass of a credential, unless its address has sent too many wrong ones.
func (g *Gate) tried(ctx context.Context, text, from string) (Pass, error) {
	v := visit{from, digestOf(text)}
	if wait := g.wait(from); wait > 0 && !g.right.Contains(v) {
		if pass, ok := g.callers.signed(ctx, text); ok {
			return pass, nil
		}
		return Pass{}, &Slowed{wait}
	}
	pass, err := g.callers.present(ctx, text)
	if err == nil {
		g.right.Add(v, struct{}{})
	} else if guessed(err) {
		g.note(from)
	}
	return pass, err
}

// guessed reports whether a refused credential may have been a guess. One that was good once is none.
func guessed(err error) bool {
	e := mapping.Classify(err)
	return e.Class == mapping.Unauthorized && e.Code != codeExpired
}

// wait is how long the address has to wait before it may send a key that is new from it.
func (g *Gate) wait(from string) time.Duration {
	l, ok := g.wrong.Get(from)
	if !ok {
		return 0
	}
	return time.Duration(math.Ceil(max(0, 1-l.Tokens()) * float64(wrongInterval)))
}

// note counts a wrong key.
func (g *Gate) note(from string) {
	fresh := rate.NewLimiter(rate.Every(wrongInterval), wrongBurst)
	l, ok, _ := g.wrong.PeekOrAdd(from, fresh)
	if !ok {
		l = fresh
	}
	l.Allow()
}

// network is what counts as one address: of IPv6 the first 64 bits, which is what a single host is given.
func network(from string) string {
	ip, err := netip.ParseAddr(from)
	if err != nil || ip.Unmap().Is4() {
		return from
	}
	p, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return from
	}
	return p.String()
}

// Slowed refuses an address that has sent too many wrong keys.
type Slowed struct{ wait time.Duration }

func (e *Slowed) Error() string { return "too many wrong API keys" }

// Unwrap returns the error as callers see it.
func (e *Slowed) Unwrap() error {
	return mapping.Errorf(mapping.Limited, "too_many_wrong_keys",
		"Too many wrong API keys came from this address. Check the key, and try again in %d seconds.", e.Seconds())
}

// Seconds returns how long to wait, at least one.
func (e *Slowed) Seconds() int { return max(1, int(math.Ceil(e.wait.Seconds()))) }

// Reason returns why Authenticate refused a request, for counters: missing, twice, wrong, slowed, expired, or issuer.
func Reason(err error) string {
	switch slowed := (*Slowed)(nil); {
	case errors.As(err, &slowed):
		return "slowed"
	case errors.Is(err, errMissing):
		return "missing"
	case errors.Is(err, errTwice):
		return "twice"
	case mapping.Classify(err).Code == codeExpired:
		return "expired"
	case mapping.Classify(err).Code == codeIssuer:
		return "issuer"
	default:
		return "wrong"
	}
}
