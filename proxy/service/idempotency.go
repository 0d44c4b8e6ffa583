package service

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
)

// longestKey bounds an Idempotency-Key, in bytes.
const longestKey = 255

// stepRoute is where keys of step POSTs belong, with the task.
const stepRoute = "step"

func checkKey(key string) error {
	if len(key) > longestKey {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Idempotency-Key is longer than %d bytes.", longestKey)
	}
	return nil
}

// keyOf binds a client's key to what is made where and to the request. The
// route is a matter of what is made: a run that was asked for with wait is
// found again by a request that streams.
func keyOf(key, route string, request any) store.Key {
	if key == "" {
		return store.Key{}
	}
	body, err := json.Marshal(request)
	if err != nil { // the parts were JSON when they came in
		return store.Key{}
	}
	sum := sha256.Sum256(body)
	return store.Key{Text: key, Route: route, Sum: sum[:]}
}

func keyOfRun(n adapter.NewRun) store.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey, n.Fields = "", nil // the names of fields come in no order
	route := "run " + n.ThreadID
	if i, _, ok := strings.Cut(n.Batch, "/"); ok {
		route = "batch " + i
	}
	return keyOf(key, route, n)
}

func keyOfThread(n adapter.NewThread) store.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return keyOf(key, "thread", n)
}

func keyOfCron(n adapter.NewCron) store.Key {
	key := n.Run.IdempotencyKey
	n.Run.IdempotencyKey, n.Run.Fields = "", nil
	return keyOf(key, "cron "+n.Run.ThreadID, n)
}

func keyOfTopic(n adapter.NewTopic) store.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return keyOf(key, "topic "+n.Agent, n)
}

func keyOfInteraction(n adapter.NewInteraction) store.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return keyOf(key, "interaction "+n.Ref.Agent+" "+n.Ref.ID, n)
}

func keyOfTask(n adapter.NewTask) store.Key {
	key := n.IdempotencyKey
	n.IdempotencyKey = ""
	return keyOf(key, "task "+n.Agent+" "+n.Topic, n)
}

func (p *pull) key(route string) store.Key {
	r := p.req
	r.IdempotencyKey = ""
	return keyOf(p.req.IdempotencyKey, route+" "+p.ses.task.ID, r)
}
