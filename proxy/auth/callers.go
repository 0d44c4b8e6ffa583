package auth

import (
	"context"
	"errors"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// Callers are all callers of a configuration: those with keys, tokens and certificates. Safe for concurrent use.
type Callers struct {
	keys         *Keys
	issuers      map[string]*issuer // by iss
	certificates []*certificate
	required     bool // callers must authenticate
	anyone       life // of callers without credentials, if none are required
}

// NewCallers returns the callers of a validated configuration. It does not call any issuer.
func NewCallers(cfg config.Auth, log *zap.Logger) (*Callers, error) {
	keys, err := NewKeys(cfg.Keys)
	if err != nil {
		return nil, err
	}
	c := &Callers{keys: keys, issuers: map[string]*issuer{}, required: cfg.On(), anyone: newLife()}
	for _, one := range cfg.JWT {
		c.issuers[one.Issuer] = newIssuer(one, log)
	}
	for _, one := range cfg.Certificates {
		c.certificates = append(c.certificates, &certificate{one, one.Access().Principal(one.ID), newLife()})
	}
	return c, nil
}

// Succeed takes over the unchanged callers of an earlier configuration with their running requests. It ends the
// requests of the others. It must be called before c is used.
func (c *Callers) Succeed(before *Callers) {
	c.keys.succeed(before.keys)
	for name, was := range before.issuers {
		if was.same(c.issuers[name]) {
			c.issuers[name] = was
		} else {
			was.life.end(errGone)
		}
	}
	for _, was := range before.certificates {
		was.succeeded(c.certificates)
	}
	if c.required == before.required {
		c.anyone = before.anyone
	} else {
		before.anyone.end(errGone)
	}
}

// Replaceable returns an error if next would lock out all callers although some can call now. It calls issuers whose
// keys were never read, which takes at most a few seconds each. An unchanged issuer keeps its keys, so it may be
// unreachable.
func (c *Callers) Replaceable(ctx context.Context, next *Callers) error {
	if !c.usable() {
		return nil
	}
	if next.usable() || c.keeps(next) {
		return nil
	}
	errs := []error{errNobody}
	for _, one := range next.issuers {
		err := one.keys.refresh(ctx)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// keeps reports whether an issuer with known keys is unchanged, as in Succeed.
func (c *Callers) keeps(next *Callers) bool {
	for name, one := range c.issuers {
		if one.keys.known() && one.same(next.issuers[name]) {
			return true
		}
	}
	return false
}

var errNobody = errors.New("auth: nobody could call with these keys: all have expired or give access only to metrics. Add a valid one")

// usable reports whether any caller could make calls, as far as is known.
func (c *Callers) usable() bool {
	known := !c.required || c.keys.usable()
	for _, one := range c.certificates {
		known = known || opens(one.who)
	}
	for _, one := range c.issuers {
		known = known || one.keys.known()
	}
	return known
}

// present returns the Pass of a key or a token.
func (c *Callers) present(ctx context.Context, text string) (Pass, error) {
	pass, ok, err := c.keys.Verify(text)
	if ok || err != nil {
		return pass, err
	}
	if len(c.issuers) > 0 && isToken(text) {
		return c.token(ctx, text)
	}
	return Pass{}, mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
		"Unknown API key. Compare it with auth.keys in the bridge's configuration.")
}

// signed returns the Pass of a token, or false if it is invalid. It does not check keys.
func (c *Callers) signed(ctx context.Context, text string) (Pass, bool) {
	if len(c.issuers) == 0 || !isToken(text) {
		return Pass{}, false
	}
	pass, err := c.token(ctx, text)
	return pass, err == nil
}
