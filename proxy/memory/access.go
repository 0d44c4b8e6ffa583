package memory

import (
	"context"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Access is what an agent may do with the store by itself and, with memory.store_url, where it is and what opens it.
type Access struct {
	URL        string     `json:"url,omitempty"`
	Token      Token      `json:"token,omitempty"`
	Namespaces [][]string `json:"namespaces"`
	Writes     bool       `json:"writes"`
}

// Whose says what a token is given to.
type Whose int

const (
	OfRun  Whose = iota // the token is that of one run
	OfTask              // the agent is told once for several runs of a task
)

// Access returns what the agent of a run may do with the store by itself; nil: nothing.
func (m *Memory) Access(ctx context.Context, s Scope, whose Whose) (*Access, error) {
	who := m.principal(s)
	if len(who.Namespaces) == 0 || s.Config.StoreURL == "" && !s.Config.AllowWrites {
		return nil, nil
	}
	access := &Access{URL: s.Config.StoreURL, Namespaces: who.Namespaces, Writes: s.Config.AllowWrites}
	if access.URL == "" {
		return access, nil
	}
	of := grant{Tenant: s.Run.Tenant, Thread: s.Run.ThreadID}
	if whose == OfTask {
		of.Task = s.Run.TaskID
	} else {
		of.Run = s.Run.ID
	}
	var err error
	access.Token, err = m.signer.token(ctx, of)
	return access, err
}

// Granted returns the principal that a token stands for: it may use the store alone, in the namespaces of the agent's
// memory, which configOf returns. ok is false for any other text, and for a token that was not signed here. The error
// is of class Unauthorized when the run has ended.
func (m *Memory) Granted(ctx context.Context, token string, configOf func(*mapping.Run) (config.Memory, bool)) (who mapping.Principal, ok bool, err error) {
	of, ok, err := m.signer.read(ctx, token)
	if err == nil && ok {
		who, err = m.holder(mapping.WithPrincipal(ctx, mapping.Principal{Tenant: of.Tenant}), of, configOf)
	}
	return who, ok, err
}

// errEnded says too little to tell a run that has ended from one that was deleted.
var errEnded = mapping.Errorf(mapping.Unauthorized, "unauthorized", "The token is that of a run that has ended, and is good no more.")

// holder is the run that works by a grant at the moment.
func (m *Memory) holder(ctx context.Context, of grant, configOf func(*mapping.Run) (config.Memory, bool)) (who mapping.Principal, err error) {
	q := mapping.RunQuery{ThreadID: of.Thread, TaskID: of.Task, Status: []mapping.RunStatus{mapping.RunRunning}}
	active, err := m.runs.List(ctx, q)
	if err != nil {
		return who, err
	}
	for _, r := range active {
		cfg, configured := configOf(&r)
		if of.Run != "" && of.Run != r.ID || !configured || cfg.StoreURL == "" {
			continue
		}
		thread, err := m.threads.Get(ctx, r.ThreadID)
		if err != nil {
			return who, err
		}
		who = m.principal(Scope{Config: cfg, Run: &r, Metadata: thread.Metadata})
		who.ID, who.Rights = "run:"+r.ID, []string{mapping.RightStore, mapping.RightRead, mapping.RightWrite}
		return who, nil
	}
	return who, errEnded
}
