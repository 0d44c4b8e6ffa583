package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
)

const grantPrefix = credential.RunTokenPrefix

// grants are tokens by which agents use the long-term store while they work on a run. They are signed and kept nowhere:
// a token is good as long as the database has its run at work, on every bridge over it and after a crash, and not a
// moment longer. Safe for concurrent use.
type grants struct {
	e      *Engine
	mu     sync.Mutex
	secret []byte // of the database; nil: not read yet
}

// grant names what a token is for: a run or, of an agent that is told once for several runs of a task, the task.
type grant struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread"`
	Task   string `json:"task,omitempty"`
	Run    string `json:"run,omitempty"`
}

func (g *grants) token(ctx context.Context, of grant) (string, error) {
	payload, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	text := grantPrefix + base64.RawURLEncoding.EncodeToString(payload)
	mac, err := g.sign(ctx, text)
	return text + "." + base64.RawURLEncoding.EncodeToString(mac), err
}

func (g *grants) sign(ctx context.Context, text string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.secret == nil {
		secret, err := g.e.st.Secrets.Get(ctx, "run tokens")
		if err != nil {
			return nil, err
		}
		g.secret = secret
	}
	mac := hmac.New(sha256.New, g.secret)
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
}

// Granted returns the principal that a token of a run stands for: it may use the store alone, in the namespaces of the
// agent's memory. ok is false for any other text, and for a token that was not signed here. The error is of class
// Unauthorized when the run has ended.
func (e *Engine) Granted(ctx context.Context, token string) (who mapping.Principal, ok bool, err error) {
	of, ok, err := e.grants.read(ctx, token)
	if err == nil && ok {
		who, err = e.holder(mapping.WithPrincipal(ctx, mapping.Principal{Tenant: of.Tenant}), of)
	}
	return who, ok, err
}

func (g *grants) read(ctx context.Context, token string) (of grant, ok bool, err error) {
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

// errEnded says too little to tell a run that has ended from one that was deleted.
var errEnded = mapping.Errorf(mapping.Unauthorized, "unauthorized", "The token is that of a run that has ended, and is good no more.")

// holder is the run that works by a grant at the moment.
func (e *Engine) holder(ctx context.Context, of grant) (who mapping.Principal, err error) {
	q := mapping.RunQuery{ThreadID: of.Thread, TaskID: of.Task, Status: []mapping.RunStatus{mapping.RunRunning}}
	active, err := e.st.Runs.List(ctx, q)
	if err != nil {
		return who, err
	}
	for _, r := range active {
		agent := e.agentOf(&r)
		if of.Run != "" && of.Run != r.ID || agent == nil || agent.Config.Memory.StoreURL == "" {
			continue
		}
		thread, err := e.st.Threads.Get(ctx, r.ThreadID)
		if err != nil {
			return who, err
		}
		who = e.memoryOf(agent, &r, thread.Metadata)
		who.ID, who.Rights = "run:"+r.ID, []string{mapping.RightStore, mapping.RightRead, mapping.RightWrite}
		return who, nil
	}
	return who, errEnded
}

// storeAccess is what an agent may do with the store and, with memory.store_url, where it is and what opens it.
type storeAccess struct {
	URL        string     `json:"url,omitempty"`
	Token      string     `json:"token,omitempty"`
	Namespaces [][]string `json:"namespaces"`
	Writes     bool       `json:"writes"`
}

// access tells the agent of a run what of the store it may use by itself; nil: nothing.
func (x assignment) access(ctx context.Context, of grant) (*storeAccess, error) {
	cfg := &x.agent.Config.Memory
	who := x.e.memoryOf(x.agent, &x.Run, x.Thread.Metadata)
	if len(who.Namespaces) == 0 || cfg.StoreURL == "" && !cfg.Writes {
		return nil, nil
	}
	access := &storeAccess{URL: cfg.StoreURL, Namespaces: who.Namespaces, Writes: cfg.Writes}
	if cfg.StoreURL == "" {
		return access, nil
	}
	var err error
	of.Tenant, of.Thread = x.Run.Tenant, x.Run.ThreadID
	access.Token, err = x.e.grants.token(ctx, of)
	x.token = runToken(access.Token)
	return access, err
}

// runToken is what opens the store for the agent of one execution; "": it was given none.
type runToken string

// hideIn takes tokens of runs out of what the agent said, as it may show its own configuration, which clients read and
// which is kept after the run.
func (t runToken) hideIn(ev *mapping.Event) {
	t.hide(&ev.Data)
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

// hideAtEnd is hideIn of how the run ended.
func (t runToken) hideAtEnd(end *mapping.Outcome) {
	t.hideInQuestions(end.Interrupts)
	if f := end.Fault; f != nil && t != "" {
		end.Fault = &mapping.Fault{Code: f.Code, Message: string(credential.HideRunTokens([]byte(f.Message)))}
	}
}

func (t runToken) hideInQuestions(asked []mapping.Interrupt) {
	for i := range asked {
		t.hide(&asked[i].Value)
		t.hide(&asked[i].Schema)
	}
}

func (t runToken) hide(raw *json.RawMessage) {
	if t != "" {
		*raw = credential.HideRunTokens(*raw)
	}
}
