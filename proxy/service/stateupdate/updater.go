package stateupdate

import (
	"context"
	"encoding/json"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"go.uber.org/zap"
)

// headRetries limits how often an update is retried because another one was faster.
const headRetries = 8

// Updater changes the states of threads. Its fields must not be modified after first use. Safe for concurrent use.
type Updater struct {
	Engine *engine.Engine
	Log    *eventlog.Log
	Store  *store.Store
	Zap    *zap.Logger
}

// Note is the record of a request with an idempotency key.
type Note struct {
	Key   store.IdempotencyKey
	Makes string // "" means the checkpoint
}

// Update reduces values into a new checkpoint of the thread. It waits while another update is being sent to an agent,
// and retries if another update overtakes it.
func (x *Updater) Update(ctx context.Context, threadID string, u adapter.StateUpdate, n Note) (mapping.Checkpoint, error) {
	return tried(ctx, x, threadID, u, func() (mapping.Checkpoint, error) { return x.try(ctx, threadID, u, n) })
}

// UpdateInner sends a change of an inner graph's state to the thread's agent, and returns the checkpoint that the agent
// created. It waits and retries like Update.
func (x *Updater) UpdateInner(ctx context.Context, threadID string, at adapter.InnerPoint, u adapter.StateUpdate) (json.RawMessage, error) {
	return tried(ctx, x, threadID, u, func() (json.RawMessage, error) { return x.tryInner(ctx, threadID, at, u) })
}

// tried runs an update and retries it if another one was faster.
func tried[T any](ctx context.Context, x *Updater, threadID string, u adapter.StateUpdate, once func() (T, error)) (none T, err error) {
	if err := x.check(u); err != nil {
		return none, err
	}
	watch := x.Log.Watch(threadID)
	defer watch.Leave()
	for try := 0; ; {
		changed := watch.Next()
		made, err := once()
		switch code := mapping.Classify(err).Code; {
		case err != nil && code == store.CodeHeadMoved && try < headRetries:
			try++
		case err != nil && code == store.CodeUpdating:
			if err := watch.Wait(ctx, changed); err != nil {
				return made, err
			}
		default:
			return made, err
		}
	}
}

// check refuses an update that exceeds the limits.
func (x *Updater) check(u adapter.StateUpdate) error {
	files, messages, keys := 0, 0, 0
	for _, values := range u.All() {
		list, _ := rawjson.Lookup(values, "messages") // unreadable messages are refused with the values
		files, messages, keys = files+rule.CountFiles(values), messages+rawjson.CountElements(list), keys+rawjson.CountMembers(values)
	}
	if err := rule.CheckMessages(messages, x.Engine.Config().Limits.Messages); err != nil {
		return err
	}
	if most := x.Engine.Config().Limits.MaxStateKeys; most > 0 && keys > most {
		return mapping.Errorf(mapping.Invalid, "too_many_keys",
			"The update sets %d keys of the state, but limits.max_state_keys of this bridge allows only %d. Group related values under one key.", keys, most)
	}
	return rule.CheckFileCount(files, x.Engine.Config().Limits.MaxFilesPerRequest)
}

// checkStatedFor is like checkStated, but accepts everything if the agent is a graph.
func (x *Updater) checkStatedFor(agent string, u adapter.StateUpdate) error {
	if x.isGraph(agent) {
		return nil
	}
	return checkStated(u)
}

// isGraph reports whether an agent is known to have its own state.
func (x *Updater) isGraph(name string) bool {
	agent, ok := x.Engine.Agent(name)
	if !ok {
		return false
	}
	traits, known := agent.Known()
	return known && traits.Exposes.ReportsState()
}

// attached converts the files in messages to artifacts, or refuses them.
func (x *Updater) attached(threadID string, said []json.RawMessage, after *state.Fold, list func() ([]mapping.Artifact, error)) ([]artifact.FileWrite, error) {
	held, err := rule.CheckAttachments(said, int64(x.Engine.Config().Limits.Artifact))
	if err != nil || held == 0 {
		return nil, err
	}
	if err := rule.CheckFileCount(held, x.Engine.Config().Limits.MaxFilesPerRequest); err != nil {
		return nil, err
	}
	return engine.Attached(threadID, said, after, list)
}
