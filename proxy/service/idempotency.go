package service

import (
	"context"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/idempotency"
)

func keyOfRun(ctx context.Context, n *adapter.RunRequest) idempotency.Key {
	route := "run " + n.ThreadID
	if i, _, ok := strings.Cut(n.Batch, "/"); ok {
		route = "batch " + i
	}
	return idempotency.NewKey(n.IdempotencyKey, route, askedOf(n)).Of(mapping.PrincipalOf(ctx))
}

// askedOf returns what two requests for the same run have in common.
func askedOf(n *adapter.RunRequest) any {
	if n.Request != nil {
		return n.Request
	}
	same := *n
	same.IdempotencyKey, same.Fields = "", nil // the names of fields come in no order
	return same
}

func keyOfThread(ctx context.Context, n adapter.ThreadRequest) idempotency.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return idempotency.NewKey(key, "thread", n).Of(mapping.PrincipalOf(ctx))
}

func keyOfCron(ctx context.Context, n adapter.NewCron) idempotency.Key {
	key := n.Run.IdempotencyKey
	n.Run.IdempotencyKey, n.Run.Fields = "", nil
	return idempotency.NewKey(key, "cron "+n.Run.ThreadID, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfTopic(ctx context.Context, n adapter.NewTopic) idempotency.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return idempotency.NewKey(key, "topic "+n.Agent, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfInteraction(n adapter.NewInteraction) idempotency.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return idempotency.NewKey(key, "interaction "+n.Ref.Agent+" "+n.Ref.ID, n)
}

func keyOfTask(ctx context.Context, n adapter.NewTask) idempotency.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return idempotency.NewKey(key, "task "+n.Agent+" "+n.Topic, n).Of(mapping.PrincipalOf(ctx))
}

func keyOfCopy(ctx context.Context, key, thread string) idempotency.Key {
	return idempotency.NewKey(key, "copy "+thread, nil).Of(mapping.PrincipalOf(ctx))
}

func keyOfUpdate(ctx context.Context, thread string, u adapter.StateUpdate) idempotency.Key {
	key := u.IdempotencyKey
	u.IdempotencyKey = ""
	return idempotency.NewKey(key, "state "+thread, u).Of(mapping.PrincipalOf(ctx))
}
