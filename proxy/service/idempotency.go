package service

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

func keyOfRun(ctx context.Context, n *adapter.RunRequest) store.IdempotencyKey {
	route := "run " + n.ThreadID
	if i, _, ok := strings.Cut(n.Batch, "/"); ok {
		route = "batch " + i
	}
	return store.NewIdempotencyKey(n.IdempotencyKey, route, askedOf(n)).Of(mapping.PrincipalOf(ctx))
}

// askedOf returns the part of a request that must be the same in a repeated request.
func askedOf(n *adapter.RunRequest) any {
	if n.Request != nil {
		return n.Request
	}
	same := *n
	same.IdempotencyKey, same.Fields = "", nil // the names of fields have no fixed order
	return same
}

func keyOfThread(ctx context.Context, n adapter.ThreadRequest) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "thread", n).Of(mapping.PrincipalOf(ctx))
}

func keyOfCron(ctx context.Context, n adapter.CronRequest) store.IdempotencyKey {
	key := n.Run.IdempotencyKey
	n.Run.IdempotencyKey, n.Run.Fields = "", nil
	return store.NewIdempotencyKey(key, "cron "+n.Run.ThreadID, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfTopic(ctx context.Context, n adapter.TopicRequest) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "topic "+n.Agent, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfInteraction(n adapter.InteractionRequest) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "interaction "+n.Ref.Agent+" "+n.Ref.ID, n)
}

func keyOfTask(ctx context.Context, n adapter.TaskRequest) store.IdempotencyKey {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "task "+n.Agent+" "+n.Topic, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfCopy(ctx context.Context, key, thread string) store.IdempotencyKey {
	return store.NewIdempotencyKey(key, "copy "+thread, nil).Of(mapping.PrincipalOf(ctx))
}

func keyOfUpdate(ctx context.Context, thread string, u adapter.StateUpdate) store.IdempotencyKey {
	key := u.IdempotencyKey
	u.IdempotencyKey = ""
	return store.NewIdempotencyKey(key, "state "+thread, u).Of(mapping.PrincipalOf(ctx))
}
