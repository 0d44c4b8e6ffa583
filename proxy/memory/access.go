package memory

import (
	"context"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// Access describes an agent's own access to the store. With memory.store_url it includes the address and a token.
type Access struct {
	URL        string     `json:"url,omitempty"`
	Token      Token      `json:"token,omitempty"`
	Namespaces [][]string `json:"namespaces"`
	Writes     bool       `json:"writes"`
}

// Whose is the holder of a token.
type Whose int

const (
	OfRun  Whose = iota // the token is for one run
	OfTask              // the agent receives one token for several runs of a task
)

// Access returns the store access of a run's agent, or nil if there is none.
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

// Granted returns the principal of a token. It may use only the store, in the namespaces of the agent's memory, which
// configOf returns. ok is false for any other text, and for a token that was not signed here. An error is of class
// Unauthorized if the run has ended.
func (m *Memory) Granted(ctx context.Context, token string, configOf func(*mapping.Run) (config.Memory, bool)) (who mapping.Principal, ok bool, err error) {
	of, ok, err := m.signer.read(ctx, token)
	if err == nil && ok {
		who, err = m.holder(mapping.WithPrincipal(ctx, mapping.Principal{Tenant: of.Tenant}), of, configOf)
	}
	return who, ok, err
}

// errEnded does not reveal whether a run has ended or was deleted.
var errEnded = mapping.Errorf(mapping.Unauthorized, "unauthorized", "This token belongs to a run that has ended, and is no longer valid.")

// holder returns the active run of a grant.
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
