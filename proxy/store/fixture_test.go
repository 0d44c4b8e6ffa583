package store_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

var writeFixture = flag.Bool("update", false, "write the fixture of the newest version of the schema, where it is missing")

// Names in the fixtures.
const (
	fixThread   = "01980000-0000-7000-8000-000000000001"
	fixAsking   = "01980000-0000-7000-8000-000000000002"
	fixLeft     = "01980000-0000-7000-8000-000000000003"
	fixRun      = "01980000-0000-7000-8000-000000000011"
	fixQuestion = "01980000-0000-7000-8000-000000000012"
	fixRunning  = "01980000-0000-7000-8000-000000000013"
	fixCron     = "01980000-0000-7000-8000-000000000021"
)

var fixKey = store.IdempotencyKey{Text: "again", Route: "POST /threads", Sum: []byte("sum")}

// since maps beginnings of lines of read.txt to the first schema version in which they appear.
var since = map[string]int{}

// C7: this program reads every database written by an earlier version. testdata/upgrade contains one database for each
// version of the schema, with data of every kind, and read.txt the data read from them.
//
// A new migration needs a database of its version, created by the program whose newest migration it is:
//
// go test ./proxy/store -run TestEveryOlderDatabaseIsRead -update
//
// An existing database is never replaced, since users have such databases. read.txt is rewritten; check the difference.
func TestEveryOlderDatabaseIsRead(t *testing.T) {
	t.Parallel()
	versions := versions(t)
	if *writeFixture {
		newest := fixture(versions[len(versions)-1])
		if !exists(newest) {
			makeFixture(t, newest)
		}
		put(t, readFile, []byte(strings.Join(readAll(t, unpacked(t, newest)), "\n")))
	}
	for _, version := range versions {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			name := fixture(version)
			if !exists(name) {
				t.Fatalf("%s is missing: run this test with -update, before the schema changes further", name)
			}
			if diff := cmp.Diff(readOf(t, version), readAll(t, unpacked(t, name))); diff != "" {
				t.Errorf("data read (-want +got):\n%s", diff)
			}
		})
	}
}

// versions returns the versions of the schema, oldest first.
func versions(t *testing.T) []int {
	t.Helper()
	migrations, err := filepath.Glob("sqldb/migrations/sqlite/*.sql")
	if err != nil || len(migrations) == 0 {
		t.Fatal(migrations, err)
	}
	list := make([]int, len(migrations))
	for i, m := range migrations {
		if _, err := fmt.Sscanf(filepath.Base(m), "%05d_", &list[i]); err != nil {
			t.Fatal(m, err)
		}
	}
	return list
}

// TestOlderSealedDatabaseIsRead checks that bodies sealed by an earlier version can be opened with their key and no
// other. With -update it creates a missing fixture (C7).
func TestOlderSealedDatabaseIsRead(t *testing.T) {
	t.Parallel()
	const name, version = "testdata/upgrade/00001.sealed.db.gz", 1
	if *writeFixture && !exists(name) {
		makeFixture(t, name, sealRing(t, false, 1))
	}
	if diff := cmp.Diff(readOf(t, version), readAll(t, unpacked(t, name), sealRing(t, false, 1))); diff != "" {
		t.Errorf("data read (-want +got):\n%s", diff)
	}
	for what, keys := range map[string]*seal.Ring{"no key": nil, "another key": sealRing(t, false, 2)} {
		s, err := store.Open(t.Context(), unpacked(t, name), store.Options{Keys: keys}, zap.NewNop())
		if err == nil {
			_ = s.Close()
			t.Errorf("the database opens with %s", what)
		}
	}
}

// readOf returns the expected data for a version.
func readOf(t *testing.T, version int) []string {
	t.Helper()
	all, err := os.ReadFile(readFile)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(all), "\n"), func(line string) bool { return tooNew(line, version) })
}

func tooNew(line string, version int) bool {
	for what, from := range since {
		if strings.HasPrefix(line, what) && version < from {
			return true
		}
	}
	return false
}

const readFile = "testdata/upgrade/read.txt"

func fixture(version int) string { return fmt.Sprintf("testdata/upgrade/%05d.db.gz", version) }

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func put(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpacked returns a copy of a fixture.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "old.db")
	put(t, path, b)
	return path
}

// makeFixture writes data of every kind that a database of this version can contain.
func makeFixture(t *testing.T, name string, keys ...*seal.Ring) {
	path := filepath.Join(t.TempDir(), "new.db")
	b := fixtureHarness(t, path, "a process that died", keys...)
	writeAll(b)
	_, _, err := b.ItemMaintenance.Embed(b.ctx)
	b.ok(err)
	b.ok(b.Close())
	b.ok(execOn(path, "VACUUM"))
	raw, err := os.ReadFile(path)
	b.ok(err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	b.ok(err)
	_, err = w.Write(raw)
	b.ok(errors.Join(err, w.Close()))
	put(t, name, packed.Bytes())
}

// fixtureHarness returns a database with a stopped clock, so that the data is always the same.
func fixtureHarness(t *testing.T, path, owner string, keys ...*seal.Ring) *harness {
	clock := &later{at: time.UnixMicro(1_780_000_000_000_000).UTC()}
	o := store.Options{Now: clock.now, Owner: owner, Index: fixtureIndex(t)}
	if len(keys) > 0 {
		o.Keys = keys[0]
	}
	return openAt(t, path, o)
}

// fixtureIndex is an index over whole items with a scripted endpoint.
func fixtureIndex(t *testing.T) *item.Index {
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL = 32, "openai:m", embeddingtest.Serve(t, 32).URL
	c := embedding.New(cfg, "apbridge/test", zap.NewNop())
	t.Cleanup(c.CloseIdle)
	return &item.Index{Embed: c, Dims: cfg.Dims, Mark: "the fixtures' model", Cache: 1 << 20, Fields: []itemquery.ItemPath{{}}}
}

// meaning returns the keys that a query finds, and whether it used words only.
func (b *harness) meaning(query string) (keys []string, lost bool) {
	list, err := b.Items.List(b.ctx, item.Query{Query: query, Lost: func(mapping.Loss) { lost = true }})
	b.ok(err)
	for _, it := range list {
		keys = append(keys, it.Key)
	}
	return keys, lost
}

func writeAll(b *harness) {
	_, _, err := b.Threads.Create(b.ctx, store.ThreadCreation{Agent: "echo", Key: fixKey, Thread: mapping.Thread{
		ID: fixThread, Metadata: []byte(`{"team":"a"}`), Config: []byte(`{"tags":["x"]}`), Expires: time.UnixMicro(1_790_000_000_000_000), TTL: time.Hour, KeepLatest: true}})
	b.ok(err)
	upload, err := b.Artifacts.Save(b.ctx, mapping.Artifact{ID: rule.ArtifactID(fixThread, "in.txt"), ThreadID: fixThread, Path: "in.txt", MIMEType: "text/plain"},
		bytes.NewReader([]byte("given")), 0, false)
	b.ok(err)
	n := fixtureRun(fixThread, fixRun)
	n.Hooks, n.WriteHook = []mapping.Hook{hookAt("h", "http://receiver/status", mapping.TaskWorking)}, says
	c := b.create(n)
	link := mapping.Link{Agent: "echo", TaskID: fixRun, Remote: "remote", Steps: []string{"one"}}
	b.ok(b.Calls.Keep(b.ctx, fixRun, c.Claimed.Fence, []store.RunCall{{N: 1, Head: []byte(`{"method":"POST"}`), Sent: []byte("asked"), Received: []byte{0xff, 0}}, {N: 2, Head: []byte(`{}`)}}))
	out := mapping.Artifact{ID: rule.ArtifactID(fixThread, "out/a.txt"), ThreadID: fixThread, Path: "out/a.txt", AgentCreated: true, CreatedAt: upload.CreatedAt, ModifiedAt: upload.ModifiedAt}
	e := ending(mapping.RunSuccess)
	e.Webhook = &store.Webhook{URL: "http://receiver/hook", Body: []byte(`{"run_id":"` + fixRun + `"}`)}
	_, _, err = b.Events.Append(b.ctx, store.Append{ThreadID: fixThread, RunID: fixRun, Fence: c.Claimed.Fence, End: &e, Links: []mapping.Link{link},
		Files: []artifact.FileWrite{{Artifact: out, Content: []byte("made")}},
		Events: fixtureEvents(
			mapping.Event{Kind: mapping.KindLinked, Head: mapping.Head{Link: &link}}, token(`["to",{"n":1}]`),
			fixtureUpdate(1, `{"messages":[{"id":"1","type":"ai","content":"é\u0000"}]}`), fixtureUpdate(2, `{"messages":[{"id":"2","type":"ai","content":"more"}]}`),
			mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &e.Outcome}})})
	b.ok(err)
	_, err = b.Tasks.HandOut(b.ctx, fixRun, 1, store.StepRequest{Input: &fixInput, AdditionalInput: []byte(`{"a":1}`)}, store.Reservation{})
	b.ok(err)
	writeQuestion(b)
	left := b.create(fixtureRun(fixLeft, fixRunning)) // left behind by a dead process
	b.append(left, fixtureEvents(fixtureUpdate(3, `{"a":1}`))...)
	b.ok(b.Claims.RequestStop(b.ctx, fixRunning, mapping.CancelledByRequest))
	writeRest(b)
}

var fixInput = "go on"

// writeQuestion writes a thread whose run has asked a question.
func writeQuestion(b *harness) {
	c := b.create(fixtureRun(fixAsking, fixQuestion))
	asks := []mapping.Interrupt{{ID: "q", Value: []byte(`"sure?"`)}}
	o := mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asks}
	e := store.End{Outcome: o, Thread: o.Thread()}
	_, _, err := b.Events.Append(b.ctx, store.Append{ThreadID: fixAsking, RunID: fixQuestion, Fence: c.Claimed.Fence, End: &e,
		Events: fixtureEvents(mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: asks}}, mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &o}})})
	b.ok(err)
}

// writeRest writes data that belongs to no thread.
func writeRest(b *harness) {
	for i, ns := range [][]string{{"a"}, {"a", "b"}, {"é"}} {
		b.ok(b.Items.Put(b.ctx, item.Put{Item: mapping.Item{Namespace: ns, Key: "k", Value: fmt.Appendf(nil, `{"n":%d,"deep":{"t":"x"}}`, i)}, Index: []byte(`["deep.t"]`)}))
	}
	_, err := b.Crons.Create(b.ctx, mapping.Cron{ID: fixCron, ThreadID: fixThread, Agent: "echo", AssistantID: mapping.AssistantID("echo"), Schedule: "0 7 * * *", Timezone: "Europe/Paris",
		Enabled: true, Metadata: []byte(`{"c":1}`), Payload: []byte(`{"input":"hi"}`), Run: []byte(`{"Input":"hi"}`), Next: time.UnixMicro(1_780_000_360_000_000)}, store.IdempotencyKey{})
	b.ok(err)
	_, _, err = b.Assistants.Create(b.ctx, anAssistant(), false, store.IdempotencyKey{})
	b.ok(err)
	_, err = b.Assistants.Update(b.ctx, assistantID, func(a *mapping.Assistant) error { a.Name = "Bea"; return nil })
	b.ok(err)
	b.ok(b.Agents.KeepFact(b.ctx, "echo", "schemas", []byte(`{"input":{}}`)))
}

func fixtureRun(thread, run string) *store.CreateRun {
	n := newRun(thread, mapping.StrategyReject)
	n.Run.ID, n.Task.ID, n.Run.Metadata, n.Run.Kwargs = run, run, []byte(`{"r":1}`), []byte(`{"input":"hi"}`)
	if thread != fixThread {
		n.Thread = &mapping.Thread{ID: thread}
	}
	n.Events = fixtureEvents(n.Events...)
	return n
}

func fixtureUpdate(n int, data string) mapping.Event {
	ev := update(data)
	ev.Head.Checkpoint.ID = fmt.Sprintf("01980000-0000-7000-8000-0000000000%02d", 30+n)
	ev.Head.Step = &mapping.StepInfo{ID: fmt.Sprint(n), SaysLast: n == 2}
	return ev
}

func fixtureEvents(list ...mapping.Event) []mapping.Event {
	for i := range list {
		list[i].At = time.UnixMicro(1_780_000_000_000_000).UTC()
	}
	return list
}

// readAll opens a database and describes all of its data, one line for each object.
func readAll(t *testing.T, path string, keys ...*seal.Ring) (lines []string) {
	b := fixtureHarness(t, path, "the next process", keys...)
	note := func(what string, v any, err error) {
		b.t.Helper()
		b.ok(err)
		text, err := json.Marshal(v)
		b.ok(err)
		lines = append(lines, what+" "+string(text))
	}
	threads, _, err := b.Threads.List(b.ctx, mapping.ThreadQuery{SortBy: mapping.SortByID, Asc: true})
	b.ok(err)
	for _, th := range threads {
		if th.KeepLatest {
			note("keeps latest", th.ID, nil)
		}
		if th.TTL > 0 {
			note("time to live", []any{th.ID, th.TTL}, nil)
		}
		th.KeepLatest, th.TTL = false, 0
		note("thread", th, nil)
		readHistory(b, th.ID, note)
		readRuns(b, th.ID, note)
		readFiles(b, th.ID, note)
	}
	readRest(b, note)
	return lines
}

type noter = func(what string, v any, err error)

func readHistory(b *harness, thread string, note noter) {
	events, err := b.Events.List(b.ctx, thread, "", 0, 0)
	note("events", events, err)
	points, err := b.States.Checkpoints(b.ctx, thread, store.CheckpointQuery{})
	note("checkpoints", points, err)
	var ids []string
	for _, c := range slices.Backward(points) {
		ids = append(ids, c.ID)
	}
	states, err := b.States.List(b.ctx, thread, ids)
	note("states", states, err)
}

func readRuns(b *harness, thread string, note noter) {
	links, err := b.Links.List(b.ctx, thread)
	note("links", links, err)
	runs, err := b.Runs.List(b.ctx, mapping.RunQuery{ThreadID: thread})
	for i := range runs {
		if runs[i].CancelReason != "" {
			note("cancelled because", []string{runs[i].ID, runs[i].CancelReason}, nil)
		}
		runs[i].CancelReason = ""
	}
	note("runs", runs, err)
	for _, r := range runs {
		readCalls(b, r.ID, note)
		task, err := b.Tasks.Get(b.ctx, r.TaskID)
		note("task", task, err)
		asked, err := b.Tasks.Requests(b.ctx, r.TaskID)
		note("requests", asked, err)
		hooks, err := b.Tasks.Hooks(b.ctx, r.TaskID)
		note("hooks", hooks, err)
	}
}

func readCalls(b *harness, run string, note noter) {
	list, err := b.Calls.List(b.ctx, "", run)
	b.ok(err)
	for _, c := range list {
		call, err := b.Calls.Get(b.ctx, "", run, c.N)
		note("calls", call, err)
	}
}

func readFiles(b *harness, thread string, note noter) {
	files, _, err := b.Artifacts.List(b.ctx, thread, 0, 0)
	note("files", files, err)
	for _, f := range files {
		_, body, err := b.Artifacts.Open(b.ctx, thread, f.ID)
		b.ok(err)
		content, err := io.ReadAll(body)
		note("file "+f.Path, string(content), errors.Join(err, body.Close()))
	}
}

func readRest(b *harness, note noter) {
	for _, agent := range []string{"echo", "other"} {
		key := mapping.WithPrincipal(b.ctx, mapping.Principal{ID: "key", Agents: []string{agent}})
		_, seen, err := b.Threads.List(key, mapping.ThreadQuery{})
		note("threads for "+agent, seen, err)
	}
	items, err := b.Items.List(b.ctx, item.Query{})
	note("items", items, err)
	if found, lost := b.meaning("kitten"); !lost {
		note("by meaning", found, nil)
	}
	if crons, n, err := b.Crons.List(b.ctx, store.CronQuery{}); n > 0 || err != nil {
		note("crons", crons, err)
	}
	assistants, err := b.Assistants.List(b.ctx)
	b.ok(err)
	for _, a := range assistants {
		versions, err := b.Assistants.Versions(b.ctx, a.ID, nil, 0, 0)
		note("assistant", versions, err)
	}
	fact, err := b.Agents.Fact(b.ctx, "echo", "schemas")
	if !errors.Is(err, sql.ErrNoRows) {
		note("schemas", fact, err)
	}
	made, _, err := b.Requests.Remembered(b.ctx, fixKey)
	note("key", made, err)
	held, err := b.Owners.Holdings(b.ctx, mapping.PrincipalOf(b.ctx).ID)
	for _, h := range held {
		if h.Kind == "webhooks" || h.Kind == "idempotency keys" {
			note("held", []any{h.Kind, h.Count}, err)
		}
	}
	due, _, err := b.Deliveries.Claim(b.ctx, 9, time.Minute, nil)
	note("deliveries", due, err)
	if b.Shared() {
		b.ok(b.Beat(b.ctx, time.Minute)) // releases what was held under an expired lease
	}
	next, _, err := b.Claims.ClaimNext(b.ctx, nil)
	if next == nil {
		b.t.Fatalf("no run was left to claim: %v", err)
	}
	note("left behind", []any{next.Run.ID, len(next.Logged)}, err)
}
