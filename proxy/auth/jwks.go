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
	keysFresh = 15 * time.Minute // after which keys are asked for again
	keysPause = 30 * time.Second // between two questions: made-up key ids must not become requests
	maxKeys   = 100              // of an issuer
	minRSA    = 2048             // bits
	keysTried = 8                // that are tried for a token without a key id
)

// keySet are the public keys of an issuer. They are asked for when the first token comes, when they are some time old,
// and when a token names a key that is not among them. While the issuer does not answer, those of before are used for
// config.JWT.Stale. Safe for concurrent use.
type keySet struct {
	cfg    config.JWT
	source *source
	log    *zap.Logger

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	read   time.Time     // when keys were told
	asked  time.Time     // when they were asked for last
	asking chan struct{} // closed when the question under way is answered; nil: none is
	failed error         // what came of the last question
}

func newKeySet(cfg config.JWT, log *zap.Logger) *keySet {
	return &keySet{cfg: cfg, source: newSource(cfg), log: log}
}

// find returns the keys that a token may be signed with. The error is of class Unavailable when they cannot be had.
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

// away refuses a token until its issuer may be asked again.
func (s *keySet) away() *mapping.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := mapping.Errorf(mapping.Unavailable, codeIssuer, "The keys of the token's issuer cannot be read at the moment. Try again in a minute.")
	e.Wait = max(time.Second, keysPause-time.Since(s.asked))
	return e
}

const codeIssuer = "issuer_unavailable"

// fitting are the keys by a token's head, and the age of all.
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

// known reports whether the keys were read once.
func (s *keySet) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys) > 0
}

// refresh asks for the keys, unless that was done just now, and waits for the answer.
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

// start asks for the keys in the background, unless that is under way or was done just now. The channel is closed when
// the answer is there; nil: there is nothing to wait for.
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

// readKeys takes the keys that tokens may be signed with out of a JWK Set (RFC 7517 section 5). Those of other uses and
// kinds are passed over, as section 5 has it.
func readKeys(raw []byte) (keys []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, errors.New("what is there is no JWK Set")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys, and no more than %d are taken", len(set.Keys), maxKeys)
	}
	for _, one := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(one, &k) == nil && signs(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key that tokens can be signed with")
	}
	return slices.Clip(keys), nil
}

// signs reports whether a key is public, long enough, and meant for signatures.
func signs(k jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	long, isRSA := k.Key.(*rsa.PublicKey)
	return !isRSA || long.N.BitLen() >= minRSA
}
