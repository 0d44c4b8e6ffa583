package crash

import (
	"context"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// ownerScenes returns scenes that remove an owner's data and encrypt existing data.
func ownerScenes() []scene {
	owners := []string{"APBRIDGE_INSPECTOR__CAPTURE=all",
		`APBRIDGE_AUTH__KEYS=[{"id":"alice","key":"` + keyOfAlice + `","rights":["admin","read","run","write"]},{"id":"bob","key":"` + keyOfBob + `","rights":["admin","read","run","write"]}]`}
	return []scene{
		{name: "an owner's data that is removed", peer: rig.Chats, environ: owners, deletes: true, play: playRemoval},
		{name: "a key that comes and goes", peer: rig.Chats, spared: 1, play: playKeys},
	}
}

const (
	keyOfAlice = "alice-0123456789abcdef"
	keyOfBob   = "bob---0123456789abcdef"
)

// playRemoval checks that the next removal deletes the remains of an interrupted one, and no data of others.
func playRemoval(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	as := func(key, method, path, body string, headers ...string) rig.Answer {
		return d.Sure(method, path, body, append(headers, "X-Api-Key", key)...).OK()
	}
	const hers, item = "/threads/11111111-2222-4333-8444-777777777777", `{"namespace":["n"],"key":"k","value":{"a":1}}`
	topic := as(keyOfBob, "POST", "/ap/v2/topics", `{}`, "Idempotency-Key", "topic").Text("topic_id")
	as(keyOfAlice, "POST", "/ap/v2/topics/"+topic+"/interactions", `{"input":"hi"}`, "Idempotency-Key", "said")
	as(keyOfAlice, "POST", "/threads", `{"thread_id":"`+hers[9:]+`","if_exists":"do_nothing"}`)
	as(keyOfAlice, "POST", hers+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "Idempotency-Key", "run")
	as(keyOfAlice, "POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *",`+rig.SaysHi+`}`)
	as(keyOfAlice, "PUT", "/store/items", item)
	held := as(keyOfBob, "GET", "/data?owner=alice", "")
	if !d.Died && !rig.Says(held.String(), `"kind":"calls of agents"`) {
		t.Errorf("no calls were kept: %s", held)
	}
	as(keyOfBob, "DELETE", "/data?owner=alice", "")
	expect(d, "kinds", len(as(keyOfBob, "GET", "/data?owner=alice", "").List("kinds")), 0)
	expect(d, "topics of the other", len(as(keyOfBob, "GET", "/ap/v2/topics", "").List("topics")), 1)
	d.End()
}

// playKeys checks that plain data is encrypted in the second life, stays readable throughout, and is plain again at the
// end.
func playKeys(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	const key, item = "YW5vdGhlciBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyA=", "/store/items?namespace=n&key=k"
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	d.Keyed(rig.CrashThread+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "run")
	d.Sure("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"a":1}}`).OK()
	before := d.Get(rig.CrashThread + "/state").At("values")
	check := func() {
		expect(d, "the state", fmt.Sprint(d.Get(rig.CrashThread+"/state").At("values")), fmt.Sprint(before))
		expect(d, "the item", d.Get(item).At("value.a"), 1)
	}
	for as, environ := range [...]string{"APBRIDGE_ENCRYPTION__KEYS=" + key, "APBRIDGE_ENCRYPTION__WRITE=plain"} {
		d.End()
		d.Configure(environ)
		check()
		want := [...]string{seal.IDOf([]byte("another key of thirty-two bytes ")).String(), "plain"}[as]
		acrossLives(t, "all is written as "+want, func() bool { d.Get("/readyz"); return writtenAs(t, d.Dsn, want) })
		check()
	}
	d.End()
}

// writtenAs reports whether all bodies of a database are written in this way, according to the database.
func writtenAs(t *testing.T, dsn, as string) (yes bool) {
	t.Helper()
	err := sqldb.Look(context.Background(), dsn, nil, func(x *sqldb.Tx) error {
		return x.Get(`SELECT EXISTS (SELECT 1 FROM secrets WHERE name = 'seal all' AND value = $1)`, []any{[]byte(as)}, []any{&yes})
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}
