package auth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-jose/go-jose/v4"
	"go.uber.org/zap"
)

const (
	keysFresh = 15 * time.Minute // age at which keys are requested again
	keysPause = 30 * time.Second // between two requests, so that invented key ids do not cause requests
	maxKeys   = 100              // maximum per issuer
	minRSA    = 2048             // bits
	keysTried = 8                // maximum for a token without a key id
)

// keySet holds the public keys of an issuer. They are requested for the first token, when they reach a certain age, and
// for a token with an unknown key. If the issuer does not respond, the previous keys are used for up to
// config.JWT.Stale. Safe for concurrent use.
type keySet struct {
	cfg    config.JWT
	source *source
	log    *zap.Logger

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	read   time.Time     // time of the newest keys
	asked  time.Time     // time of the newest request
	asking chan struct{} // closed when the current request ends; nil if there is none
	failed error         // error of the newest request
}

func newKeySet(cfg config.JWT, log *zap.Logger) *keySet {
	return &keySet{cfg: cfg, source: newSource(cfg), log: log}
}

// find returns the keys that may have signed a token. An error is of class Unavailable if there are no keys.
func (s *keySet) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	found, age := s.fitting(id, algorithm)
	if len(found) > 0 && age < keysFresh {
		return found, nil
	}
	if len(found) > 0 && age < s.cfg.Stale {
		s.start()
		return found, nil
	}
	err := s.refresh(ctx)
	if found, age = s.fitting(id, algorithm); len(found) > 0 && age < max(s.cfg.Stale, keysFresh) {
		return found, nil
	}
	if err != nil && (age >= s.cfg.Stale || !s.known()) {
		return nil, s.away()
	}
	return nil, errTokenSign
}

// away refuses a token until the next request to its issuer.
func (s *keySet) away() *mapping.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := mapping.Errorf(mapping.Unavailable, codeIssuer, "The keys of the token's issuer cannot be read at the moment. Try again in a minute.")
	e.Wait = max(time.Second, keysPause-time.Since(s.asked))
	return e
}

const codeIssuer = "issuer_unavailable"

// fitting returns the keys for a token's header, and the age of all.
func (s *keySet) fitting(id, algorithm string) (list []jose.JSONWebKey, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) && len(list) < keysTried {
			list = append(list, k)
		}
	}
	return list, time.Since(s.read)
}

// known reports whether the keys were ever read.
func (s *keySet) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys) > 0
}

// refresh requests the keys, unless that was done recently, and waits for the response.
func (s *keySet) refresh(ctx context.Context) error {
	if wait := s.start(); wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// start requests the keys in the background, unless a request is in progress or recent. The channel is closed when the
// request ends; nil means that there is nothing to wait for.
func (s *keySet) start() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking != nil {
		return s.asking
	}
	if !s.asked.IsZero() && time.Since(s.asked) < keysPause {
		return nil
	}
	s.asking, s.asked = make(chan struct{}), time.Now()
	go s.ask()
	return s.asking
}

func (s *keySet) ask() {
	keys, err := s.source.keys()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = err; err == nil {
		s.keys, s.read = keys, time.Now()
	} else {
		s.log.Warn("issuer's keys could not be read", zap.String("issuer", s.cfg.Issuer), zap.Bool("earlier_ones", len(s.keys) > 0), zap.Error(err))
	}
	close(s.asking)
	s.asking = nil
}

// readKeys returns the keys for signatures in a JWK Set (RFC 7517 section 5). Others are skipped, as section 5
// requires.
func readKeys(raw []byte) (keys []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, errors.New("the response is not a JWK Set")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys, but at most %d are accepted", len(set.Keys), maxKeys)
	}
	for _, one := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(one, &k) == nil && signs(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key with which tokens can be signed")
	}
	return slices.Clip(keys), nil
}

// signs reports whether a key is public, long enough, and for signatures.
func signs(k jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	long, isRSA := k.Key.(*rsa.PublicKey)
	return !isRSA || long.N.BitLen() >= minRSA
}
