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

// The number of wrong keys that an address may send: a burst, and one more per interval. A client with a wrong key in
// its configuration notices that long before it reaches the limit.
const (
	wrongBurst    = 20
	wrongInterval = 6 * time.Second
)

// keptAddresses limits the remembered addresses, separately for wrong keys and for right ones.
const keptAddresses = 4096

// Gate slows down the guessing of keys. An address that has sent too many wrong keys is refused before its key is
// checked, so that a correct guess looks like a wrong one. A key that was right from that address before is still
// accepted, for clients that share an address with an attacker. So is a token that its issuer has signed, since tokens
// change every few minutes and cannot be guessed. Safe for concurrent use.
type Gate struct {
	callers *Callers
	runs    Granter // nil if runs have no tokens
	wrong   *lru.Cache[string, *rate.Limiter]
	right   *lru.Cache[visit, struct{}]
}

// Granter checks the tokens that agents get during a run. Safe for concurrent use.
type Granter interface {
	// Granted returns the principal of a token. ok is false for any other text. An error is of class Unauthorized if
	// the token is no longer valid.
	Granted(ctx context.Context, token string) (who mapping.Principal, ok bool, err error)
}

// visit is a correct key and the address that sent it.
type visit struct {
	from string
	key  digest
}

// NewGate returns a Gate for callers and for tokens of runs. runs may be nil.
func NewGate(callers *Callers, runs Granter) (*Gate, error) {
	wrong, err := lru.New[string, *rate.Limiter](keptAddresses)
	if err != nil {
		return nil, err
	}
	right, err := lru.New[visit, struct{}](keptAddresses)
	return &Gate{callers: callers, runs: runs, wrong: wrong, right: right}, err
}

// Authenticate returns the Pass of a request from an address. It uses x-api-key or else Authorization: Bearer (RFC 6750
// section 2.1), which contain a key or a token, or the certificate of the connection if there is neither. If no callers
// are configured the principal is the zero value, unless the request has the token of a run. Errors never contain the
// key. They are of class Unauthorized, or Unavailable if the keys of a token's issuer cannot be read. If the address
// must wait, the error is a *Slowed, which has class Limited.
func (g *Gate) Authenticate(r *http.Request, from string) (Pass, error) {
	text, err := presented(r.Header)
	if err == nil && g.runs != nil {
		if who, ok, err := g.runs.Granted(r.Context(), text); ok || err != nil {
			return Pass{Principal: who}, err
		}
	}
	if !g.callers.required {
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

// guessed reports whether a refused credential may have been a guess. A formerly valid one is not.
func guessed(err error) bool {
	e := mapping.Classify(err)
	return e.Class == mapping.Unauthorized && e.Code != codeExpired
}

// wait returns how long the address must wait before it may send a new key.
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

// network returns the unit that counts as one address. For IPv6 these are the first 64 bits, since a single host may
// own all of their addresses.
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

// Unwrap returns the error for callers.
func (e *Slowed) Unwrap() error {
	return mapping.Errorf(mapping.Limited, "too_many_wrong_keys",
		"Too many wrong API keys came from this address. Check the key, and try again in %d seconds.", e.Seconds())
}

// Seconds returns the time to wait, at least one second.
func (e *Slowed) Seconds() int { return max(1, int(math.Ceil(e.wait.Seconds()))) }

// Reason returns the reason why Authenticate refused a request, for counters: missing, twice, wrong, slowed, expired,
// or issuer.
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
