package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/zap"
)

// issuer validates its tokens. Safe for concurrent use.
type issuer struct {
	cfg  config.JWT
	keys *keySet
	life life
}

func newIssuer(cfg config.JWT, log *zap.Logger) *issuer {
	return &issuer{cfg, newKeySet(cfg, log), newLife()}
}

// same reports whether next, which may be nil, is the same issuer with the same settings for tokens.
func (i *issuer) same(next *issuer) bool { return next != nil && reflect.DeepEqual(i.cfg, next.cfg) }

// maxToken is the maximum length of a token in bytes.
const maxToken = 16 << 10

// Errors for refused tokens. None of them contains a part of the token.
var (
	errTokenLong  = badToken("The token is longer than 16 KiB.")
	errTokenForm  = badToken("The token cannot be read or is signed with an algorithm that is not allowed for its issuer.")
	errTokenCrit  = badToken("The token has critical extensions (crit), but none are supported here.")
	errTokenFrom  = badToken("The token's issuer is not configured here (auth.jwt).")
	errTokenSign  = badToken("The token was not signed by its issuer.")
	errTokenFor   = badToken("The token is not for this bridge: it has a different audience (auth.jwt[].audience).")
	errTokenEnd   = badToken("The token has no expiry: exp is missing.")
	errTokenEarly = badToken("The token is not valid yet: nbf or iat is in the future.")
	errTokenAge   = badToken("The token has no time of issue, which the max_age of its issuer requires: iat is missing.")
	errTokenOver  = mapping.Errorf(mapping.Unauthorized, codeExpired, "The token has expired. Get a new one from its issuer.")
	errKeyOver    = mapping.Errorf(mapping.Unauthorized, codeExpired, "The API key has expired (auth.keys[].expires). Use a newer one.")
)

func badToken(why string) *mapping.Error {
	return mapping.Errorf(mapping.Unauthorized, codeUnauthorized, "%s", why)
}

// isToken reports whether a credential has the form of a signed token (RFC 7515 section 7.1).
func isToken(text string) bool { return strings.Count(text, ".") == 2 }

// token returns the Pass of a token. Before its signature is verified, only the issuer that it names is used, to choose
// the keys.
func (c *Callers) token(ctx context.Context, text string) (Pass, error) {
	if len(text) > maxToken {
		return Pass{}, errTokenLong
	}
	from := jwt.Claims{}
	unread, err := jwt.ParseSigned(text, allAlgorithms)
	if err != nil || unread.UnsafeClaimsWithoutVerification(&from) != nil {
		return Pass{}, errTokenForm
	}
	i := c.issuers[from.Issuer]
	if i == nil {
		return Pass{}, errTokenFrom
	}
	return i.verify(ctx, text)
}

// allAlgorithms are the algorithms that can be configured. They exclude those with a shared secret, and "none".
var allAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

func (i *issuer) verify(ctx context.Context, text string) (Pass, error) {
	allowed := make([]jose.SignatureAlgorithm, len(i.cfg.Algorithms))
	for n, name := range i.cfg.Algorithms {
		allowed[n] = jose.SignatureAlgorithm(name)
	}
	token, err := jwt.ParseSigned(text, allowed)
	if err != nil || len(token.Headers) != 1 {
		return Pass{}, errTokenForm
	}
	if err := uncritical(text); err != nil {
		return Pass{}, err
	}
	keys, err := i.keys.find(ctx, token.Headers[0].KeyID, token.Headers[0].Algorithm)
	if err != nil {
		return Pass{}, err
	}
	for _, key := range keys {
		said := jwt.Claims{}
		if more := (claims{}); token.Claims(key.Key, &said, &more) == nil {
			return i.pass(said, more)
		}
	}
	return Pass{}, errTokenSign
}

// uncritical refuses a token whose header has crit. The library accepts an empty list and null, which are forbidden
// (RFC 7515 section 4.1.11), and no extensions are supported.
func uncritical(text string) error {
	encoded, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return errTokenForm
	}
	var head map[string]json.RawMessage
	if json.Unmarshal(raw, &head) != nil {
		return errTokenForm
	}
	if _, there := head["crit"]; there {
		return errTokenCrit
	}
	return nil
}

// pass returns the Pass of a token with a verified signature.
func (i *issuer) pass(said jwt.Claims, more claims) (Pass, error) {
	until, err := i.good(said)
	if err != nil {
		return Pass{}, err
	}
	who, err := i.principal(more)
	return Pass{who, i.life, until}, err
}

// good checks the times and the audience of a token, and returns its expiry.
func (i *issuer) good(said jwt.Claims) (until time.Time, err error) {
	if said.Expiry == nil {
		return until, errTokenEnd
	}
	if i.cfg.MaxAge > 0 && said.IssuedAt == nil {
		return until, errTokenAge
	}
	until = said.Expiry.Time().Add(i.cfg.Leeway)
	if by := said.IssuedAt; i.cfg.MaxAge > 0 && by.Time().Add(i.cfg.MaxAge+i.cfg.Leeway).Before(until) {
		until = by.Time().Add(i.cfg.MaxAge + i.cfg.Leeway)
	}
	wanted := jwt.Expected{Issuer: i.cfg.Issuer, AnyAudience: i.cfg.Audience, Time: time.Now()}
	switch err := said.ValidateWithLeeway(wanted, i.cfg.Leeway); {
	case errors.Is(err, jwt.ErrInvalidAudience):
		return until, errTokenFor
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return until, errTokenEarly
	case errors.Is(err, jwt.ErrExpired), err == nil && expired(until):
		return until, errTokenOver
	case err != nil:
		return until, errTokenForm
	}
	return until, nil
}
