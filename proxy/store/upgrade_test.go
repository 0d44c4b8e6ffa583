package store_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// before takes the newest migrations back: the tables are those of version 2, but for the agents of threads, which this
// version, in the place of an older one, goes on to write.
const before = `DELETE FROM goose_db_version WHERE version_id > 2;` + vectorsBefore + `;` + tokensBefore + `;
 DROP INDEX artifacts_versions; ALTER TABLE artifacts DROP COLUMN run; ALTER TABLE artifacts DROP COLUMN until_run;
 DROP TABLE updates; DROP TABLE agent_facts; DROP TABLE assistant_versions; DROP TABLE assistants;
 DROP INDEX runs_stopped; DROP INDEX runs_open; CREATE INDEX runs_open ON runs (thread, id) WHERE ended_us = 0;
 CREATE UNIQUE INDEX runs_one ON runs (thread) WHERE status = 'running' AND concurrent = 0;
 DROP INDEX events_seq; CREATE UNIQUE INDEX events_seq ON events (thread, seq);
 CREATE INDEX events_state ON events (thread, seq) WHERE line IS NOT NULL`

// vectorsBefore takes back that webhooks and idempotency keys have owners, that calls of runs are kept, what limits use, that items have members and vectors, and that
// there are secrets.
const vectorsBefore = `DROP TABLE item_failures; ALTER TABLE outbox DROP COLUMN owner; ALTER TABLE outbox DROP COLUMN thread_owner; ALTER TABLE idempotency DROP COLUMN owner; DROP TABLE run_calls; DROP TABLE quota_counts; DROP TABLE rates; DROP TABLE item_members; DROP INDEX items_unlisted; ALTER TABLE items DROP COLUMN members; ALTER TABLE items DROP COLUMN members_us; DROP TABLE secrets; DROP TABLE item_vectors; DROP TABLE item_index; DROP INDEX items_unseen; ALTER TABLE items DROP COLUMN vectors_us`

// tokensBefore takes back that items have tokens.
const tokensBefore = `DROP TABLE item_tokens; DROP INDEX items_untold; ALTER TABLE items DROP COLUMN tokens; ALTER TABLE items DROP COLUMN tokens_us`

// threadsBefore takes back what migrations have added to threads, and to runs since they write it. On PostgreSQL it
// stays: there the process that plays the older one is of this version, and needs it.
const threadsBefore = `ALTER TABLE threads DROP COLUMN agents; ALTER TABLE threads DROP COLUMN keep_latest; ALTER TABLE threads DROP COLUMN ttl_us;
 ALTER TABLE runs DROP COLUMN cancel_reason; ALTER TABLE runs DROP COLUMN left_by`

// itemsBefore is the table of items as it was on SQLite before they stood beside each other.
const itemsBefore = `CREATE TABLE items_before (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL, namespace BLOB NOT NULL, item_key TEXT NOT NULL,
 value BLOB NOT NULL, fields BLOB, ttl_us BIGINT NOT NULL, created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL, expires_us BIGINT NOT NULL);
 INSERT INTO items_before (tenant, owner, namespace, item_key, value, fields, ttl_us, created_us, updated_us, expires_us)
 SELECT tenant, owner, namespace, item_key, value, fields, ttl_us, created_us, updated_us, expires_us FROM items ORDER BY item_key DESC;
 DROP TABLE items; ALTER TABLE items_before RENAME TO items;
 CREATE UNIQUE INDEX items_name ON items (tenant, namespace, item_key); CREATE INDEX items_expiry ON items (expires_us) WHERE expires_us > 0`

// C7: items of every kind are the same after the upgrade, and are written over.
func TestC7ItemsAreTheSameAfterTheUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	b := openAt(t, path, store.Options{})
	for i, it := range []mapping.Item{
		{Namespace: []string{"a"}, Key: "k", Value: []byte(`{"n":1}`)},
		{Namespace: []string{"a", "b.c"}, Key: "k", Value: []byte(`{"n":"` + strings.Repeat("x", 100_000) + `"}`)},
		{Namespace: []string{"a", "b"}, Key: "", Value: []byte(`{}`)},
		{Namespace: []string{"é"}, Key: "\x00", Value: []byte(`{"deep":{"n":2}}`)},
	} {
		b.ok(b.as([]string{"", "other"}[i%2]).Items.Put(b.as([]string{"", "other"}[i%2]).ctx, item.Put{Item: it, TTL: time.Duration(i) * time.Hour, Index: []byte(`["deep.n"]`)}))
	}
	all := func() (list [][]mapping.Item) {
		for _, tenant := range []string{"", "other"} {
			found, err := b.Items.List(b.as(tenant).ctx, item.Query{})
			b.ok(err)
			list = append(list, found)
		}
		return list
	}
	want := all()
	b.ok(b.Close())
	b.ok(execOn(path, before+";"+threadsBefore+";"+itemsBefore))
	b = openAt(t, path, store.Options{})
	if diff := cmp.Diff(want, all()); diff != "" || len(want[0])+len(want[1]) != 4 {
		t.Errorf("items (-before +after):\n%s", diff)
	}
	b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{"a"}, Key: "k", Value: []byte(`{"n":3}`)}}))
	if again := all(); len(again[0]) != len(want[0]) || string(again[0][0].Value) != `{"n":3}` || !again[0][0].CreatedAt.Equal(want[0][0].CreatedAt) {
		t.Errorf("written over, the items are %+v", again[0])
	}
}

// C7: what an older version has written is there after the upgrade, and its running runs are picked up.
func TestC7OlderDatabaseIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	b := openAt(t, path, store.Options{})
	c := b.create(newThreadRun())
	b.append(c, update(`{"a":1}`))
	b.ok(b.Close())
	b.ok(execOn(path, before+";"+threadsBefore))
	b = openAt(t, path, store.Options{})
	next, _, err := b.Claims.Next(b.ctx, nil)
	b.ok(err)
	if next == nil || next.Run.ID != c.Run.ID || len(next.Logged) != 2 {
		t.Fatalf("claimed %+v", next)
	}
	upgraded(t, b)
	if err := execOn(path, holds); err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("the index is the old one: %v", err)
	}
}

// holds makes two runs of one thread active that cannot be.
const holds = `UPDATE runs SET status = 'running', ended_us = 0, concurrent = 2, thread = (SELECT min(thread) FROM runs) WHERE id IN (SELECT id FROM runs LIMIT 2)`

// C7: a newer version migrates while an older one serves: nothing that the older one does fails, and what it runs goes
// on there.
func TestC7MigratedWhileAnotherProcessServes(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	older := openAt(t, dsn, store.Options{})
	behind(t, dsn, before)
	c := older.create(newThreadRun())
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for ; ; n++ {
			select {
			case <-stop:
				return
			default:
				older.append(c, token(strconv.Itoa(n)))
				older.end(older.create(newThreadRun()), mapping.RunSuccess)
			}
		}
	}()
	newer := openAt(t, dsn, store.Options{})
	upgraded(t, newer)
	if ids, _, _ := newer.claims(); len(ids) != 0 {
		t.Errorf("runs were taken over: %v", ids)
	}
	close(stop)
	n := <-done
	if evs, err := newer.Events.List(newer.ctx, c.Run.ThreadID, c.Run.ID, 0, 0); err != nil || len(evs) != n+1 {
		t.Errorf("%d events, want %d, %v", len(evs), n+1, err)
	}
	older.end(c, mapping.RunSuccess)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), holds); err == nil || !strings.Contains(err.Error(), "runs_open") {
		t.Errorf("the index is the old one: %v", err)
	}
}

// upgraded shows that the newest migration is in place.
func upgraded(t *testing.T, b *harness) {
	t.Helper()
	n := newThreadRun()
	n.Run.Options.MayOverlap = true
	first := b.create(n)
	if c := b.create(newRun(first.Run.ThreadID, mapping.StrategyConcurrent)); c.Claimed == nil {
		t.Error("a run beside another is not claimed")
	}
	b.end(first, mapping.RunSuccess)
}

// Items that an older version has written become vectors, too.
func TestItemsOfAnOlderVersionBecomeVectors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	b := openAt(t, path, store.Options{})
	b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: []string{"n"}, Key: "a", Value: []byte(`{"t":"kitten"}`)}}))
	b.ok(b.Close())
	b.ok(execOn(path, `DELETE FROM goose_db_version WHERE version_id > 15; ALTER TABLE runs DROP COLUMN left_by;`+vectorsBefore))
	b = openAt(t, path, store.Options{Index: fixtureIndex(t)})
	if n, _, err := b.ItemChores.Embed(b.ctx); n != 1 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	if found, lost := b.meaning("cat"); lost || !cmp.Equal(found, []string{"a"}) {
		t.Errorf("%v are found, words only: %v", found, lost)
	}
}
