package memory

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/proxy/store"
)

const grantPrefix = credential.RunTokenPrefix

// Token gives the agent of one execution access to the store, or "" if it has none. It is valid while its run is active
// in the database, on every bridge over it and after a crash.
type Token string

// signer creates and reads tokens without storing them. Safe for concurrent use.
type signer struct {
	secrets *store.Secrets
	known   atomic.Pointer[[]byte] // the key of the database; nil until it is read
}

// grant names the run of a token or, for an agent with one token for several runs, the task.
type grant struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread"`
	Task   string `json:"task,omitempty"`
	Run    string `json:"run,omitempty"`
}

func (g *signer) token(ctx context.Context, of grant) (Token, error) {
	payload, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	text := grantPrefix + base64.RawURLEncoding.EncodeToString(payload)
	mac, err := g.sign(ctx, text)
	return Token(text + "." + base64.RawURLEncoding.EncodeToString(mac)), err
}

func (g *signer) sign(ctx context.Context, text string) ([]byte, error) {
	key, err := g.key(ctx)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
}

// key reads the key of the database once. Concurrent callers may all read it, because their contexts differ.
func (g *signer) key(ctx context.Context) ([]byte, error) {
	if key := g.known.Load(); key != nil {
		return *key, nil
	}
	key, err := g.secrets.Get(ctx, "run tokens")
	if err == nil {
		g.known.Store(&key)
	}
	return key, err
}

func (g *signer) read(ctx context.Context, token string) (of grant, ok bool, err error) {
	text, given, _ := strings.Cut(token, ".")
	encoded, is := strings.CutPrefix(text, grantPrefix)
	if !is {
		return of, false, nil
	}
	want, err := g.sign(ctx, text)
	if err != nil {
		return of, false, err
	}
	mac, err := base64.RawURLEncoding.DecodeString(given)
	payload, err2 := base64.RawURLEncoding.DecodeString(encoded)
	ok = err == nil && err2 == nil && hmac.Equal(mac, want) && json.Unmarshal(payload, &of) == nil
	return of, ok, nil
}

// HideIn removes tokens of runs from the agent's output. An agent may print its own configuration, and clients read the
// output after the run.
func (t Token) HideIn(ev *mapping.Event) {
	t.hide(&ev.Data)
	t.hide(&ev.Head.Native)
	t.hideInQuestions(ev.Head.Interrupts)
	if s := ev.Head.Step; s != nil {
		t.hide(&s.Output)
		t.hide(&s.Additional)
	}
	if c := ev.Head.Checkpoint; c != nil {
		t.hide(&c.Metadata)
		t.hide(&c.Tasks)
	}
}

// HideAtEnd is like HideIn, for the outcome of the run.
func (t Token) HideAtEnd(end *mapping.Outcome) {
	t.hideInQuestions(end.Interrupts)
	if f := end.Fault; f != nil && t != "" {
		said := *f
		said.Name = string(credential.HideRunTokens([]byte(f.Name)))
		said.Message = string(credential.HideRunTokens([]byte(f.Message)))
		end.Fault = &said
	}
}

func (t Token) hideInQuestions(asked []mapping.Interrupt) {
	for i := range asked {
		t.hide(&asked[i].Value)
		t.hide(&asked[i].Schema)
	}
}

func (t Token) hide(raw *json.RawMessage) {
	if t != "" {
		*raw = credential.HideRunTokens(*raw)
	}
}
