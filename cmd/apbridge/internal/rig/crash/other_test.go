package crash

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store"
)

// otherScenes returns scenes for all writes other than those of runs and steps.
func otherScenes() []scene {
	plain := func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Python) }
	return []scene{
		{name: "items, threads and crons", peer: plain, play: playRecords},
		{name: "topics and files", peer: plain, environ: []string{"APBRIDGE_LIMITS__ARTIFACT=4KiB"}, play: playFiles, counts: true},
		{name: "state updates before a graph", peer: rig.Chats, play: playUpdates, counts: true},
		{name: "assistants", peer: rig.Chats, play: playAssistants},
		{name: "runs that are stopped", peer: hangsOnce, deletes: true, play: playStops},
		{name: "runs that are handed over", peer: hangsInAStep, environ: []string{"APBRIDGE_SHUTDOWN_GRACE=50ms"}, play: playHandover, counts: true},
		{name: "runs that go on in a stop", peer: heldInAStep, play: playStop, counts: true},
		{name: "what time does", peer: rig.Chats, spared: 1, deletes: true, environ: []string{"APBRIDGE_RETENTION__EVENTS=1ms", "APBRIDGE_RETENTION__CHECKPOINTS=1ms"}, play: playTime},
	}
}

func hangsOnce() adaptertest.Peer {
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.HangPlay()}}
}

func hangsInAStep() adaptertest.Peer {
	a := adaptertest.NewStepAgent(adaptertest.Python)
	a.Script[1].Fault = adaptertest.Hang
	return a
}

// gone sends a request that removes an object and checks that a second request does not find it.
func gone(d *rig.Killable, method, path, body string) {
	d.T.Helper()
	if a := d.Sure(method, path, body); a.Status/100 != 2 && (a.Status != http.StatusNotFound || !d.Died) {
		d.T.Errorf("response to %s: %d %.300s", a.Name, a.Status, a.Body)
	}
}

// count returns the number of results of a search.
func count(d *rig.Killable, path, body string) int {
	d.T.Helper()
	return len(d.Sure("POST", path, body).OK().List(""))
}

func expect(d *rig.Killable, what string, got, want any) {
	d.T.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.T.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lostRun waits for the end of a run and reports whether its outcome is unknown, because the process died after the
// agent may have received it. Any other run must have succeeded.
func lostRun(d *rig.Killable, what, run string) bool {
	d.T.Helper()
	joined := d.Get(run + "/join")
	if d.Died && joined.At("__error__.error") == "outcome_unknown" {
		return true
	}
	expect(d, what, d.Get(run).Text("status"), "success")
	return false
}

func playRecords(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	d.Sure("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"a":1},"ttl":60}`).OK()
	expect(d, "the item", d.Get("/store/items?namespace=n&key=k&refresh_ttl=true").At("value.a"), 1)
	gone(d, "DELETE", "/store/items", `{"namespace":["n"],"key":"k"}`)

	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	d.Sure("PATCH", rig.CrashThread, `{"metadata":{"a":"b"}}`).OK()
	messages := func() int { return len(d.Get(rig.CrashThread + "/state").List("values.messages")) }
	d.Either(func() bool { return messages() == 1 }, "POST", rig.CrashThread+"/state", `{"values":{"messages":[{"role":"user","content":"hi"}]}}`)
	expect(d, "messages", messages(), 1)
	d.Either(func() bool { return count(d, "/threads/search", `{}`) == 2 }, "POST", rig.CrashThread+"/copy", "")
	for _, th := range d.Sure("POST", "/threads/search", `{}`).OK().List("") {
		if id := rig.Dig(th, "thread_id").(string); id != rig.CrashThread[9:] {
			expect(d, "messages of the copy", len(d.Get("/threads/"+id+"/state").List("values.messages")), 1)
			gone(d, "DELETE", "/threads/"+id, "")
		}
	}
	expect(d, "threads", count(d, "/threads/search", `{}`), 1)

	expect(d, "assistants", count(d, "/assistants/search", `{}`), 1)

	crons := func() int { return count(d, "/runs/crons/search", `{}`) }
	d.Either(func() bool { return crons() == 1 }, "POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *",`+rig.SaysHi+`}`)
	id := rig.Dig(d.Sure("POST", "/runs/crons/search", `{}`).List(""), "0.cron_id").(string)
	d.Sure("PATCH", "/runs/crons/"+id, `{"schedule":"@yearly"}`).OK()
	gone(d, "DELETE", "/runs/crons/"+id, "")
	expect(d, "crons", crons(), 0)
	run := d.Keyed(rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "run").Text("run_id")
	d.Get(rig.CrashThread + "/runs/" + run + "/join")
	gone(d, "DELETE", rig.CrashThread+"/runs/"+run, "")
	const one = `{"assistant_id":"agent","on_completion":"keep",` + rig.SaysHi + `}`
	batch := func() []any { return d.Keyed("/runs/batch", `[`+one+`,`+one+`]`, "batch").List("") }
	first := batch()
	for i, r := range batch() {
		if id := rig.Dig(r, "run_id"); i >= len(first) || id != rig.Dig(first[i], "run_id") {
			t.Errorf("run %d of the repeated batch is another one: %v", i, id)
		}
		d.Get("/threads/" + rig.Dig(r, "thread_id").(string) + "/runs/" + rig.Dig(r, "run_id").(string) + "/join")
	}
	expect(d, "runs of the batch", len(first), 2)
	d.Get("/readyz")
	d.End()
}

// playUpdates sends an update of a thread's state that the agent accepts and another one that it refuses. The thread
// accepts runs after both.
func playUpdates(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	run := func(key string) (lost bool) {
		id := d.Keyed(rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`, key).Text("run_id")
		return lostRun(d, "the run", rig.CrashThread+"/runs/"+id)
	}
	bare := run("first") // a thread without an upstream thread
	const update = `{"values":{"messages":[{"id":"m","type":"human","content":"hi"}]}`
	messages := func() int { return len(d.Get(rig.CrashThread + "/state").List("values.messages")) }
	d.Either(func() bool { return messages() == 1 }, "POST", rig.CrashThread+"/state", update+`}`)
	expect(d, "messages", messages(), 1)
	if a := d.Sure("POST", rig.CrashThread+"/state", update+`,"as_node":"`+adaptertest.NoNode+`"}`); (a.Status/100 == 2) != bare {
		t.Errorf("an update as an unknown node: %d %s", a.Status, a.Body)
	}
	expect(d, "messages after a refusal", messages(), 1)
	status := map[bool]string{false: "idle", true: "error"}[run("second")]
	expect(d, "the thread", d.Get(rig.CrashThread).Text("status"), status)
	d.End()
}

func playAssistants(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	const at = "/assistants/11111111-2222-4333-8444-777777777777"
	if n := len(d.Get("/assistants/agent/graph").List("nodes")); n == 0 {
		t.Error("the graph has no nodes")
	}
	d.Sure("POST", "/assistants", `{"assistant_id":"`+at[12:]+`","graph_id":"agent","name":"one","if_exists":"do_nothing"}`).OK()
	name := func() any { return d.Get(at).At("name") }
	d.Either(func() bool { return name() == "two" }, "PATCH", at, `{"name":"two"}`)
	expect(d, "the name", name(), "two")
	d.Sure("POST", at+"/latest", `{"version":1}`).OK()
	expect(d, "the first name", name(), "one")
	gone(d, "DELETE", at, "")
	expect(d, "the assistant", d.Sure("GET", at, "").Status, http.StatusNotFound)
	d.End()
}

// form returns an upload in the form of v1 clients.
func form(name, content string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("relative_path", "in") // before the file, so that the reader need not keep the file
	part, _ := w.CreateFormFile("file", name)
	fmt.Fprint(part, content)
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func playFiles(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	topics := func() []any { return d.Get("/ap/v2/topics").List("topics") }
	d.Either(func() bool { return len(topics()) == 1 }, "POST", "/ap/v2/topics", `{}`)
	id := rig.Dig(topics(), "0.topic_id").(string)
	said := func() []any { return d.Get("/ap/v2/topics/" + id + "/interactions").List("interactions") }
	d.Either(func() bool { return len(said()) == 1 }, "POST", "/ap/v2/topics/"+id+"/interactions", `{"input":"hi"}`)
	expect(d, "interactions", len(said()), 1)

	task := d.Keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, "task").Text("task_id")
	at := "/ap/v1/agent/tasks/" + task
	files := func() []any { return d.Get(at + "/artifacts").List("artifacts") }
	small, typ := form("a.txt", strings.Repeat("x", 1000))
	for sent := false; !sent && len(files()) == 0; {
		_, sent = d.Try("POST", at+"/artifacts", small, "Content-Type", typ)
	}
	expect(d, "files", len(files()), 1)
	large, typ := form("b.txt", strings.Repeat("x", 5000))
	if a := d.Sure("POST", at+"/artifacts", large, "Content-Type", typ); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("an upload over the limit: %d %s", a.Status, a.Body)
	}
	expect(d, "files", len(files()), 1)
	file := rig.Dig(files(), "0.artifact_id").(string)
	expect(d, "bytes", len(d.Get(at+"/artifacts/"+file).Body), 1000)
	steps := taskScene{keys: true}.pull(d, at, "task")
	unknown := d.Died && steps[len(steps)-1].At("additional_output.error.type") == "outcome_unknown"
	if got, _ := peer.(*adaptertest.StepAgent).Received("in/a.txt"); len(got) != 1000 && !unknown {
		t.Errorf("the agent received %d bytes", len(got))
	}
	d.End()
}

// playStops starts a run that hangs, cancels a queued run, and starts a third one that rolls back the first. The first
// run has already ended if its outcome is unknown.
func playStops(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	body := func(strategy string) string {
		return `{"assistant_id":"agent","multitask_strategy":"` + strategy + `",` + rig.SaysHi + `}`
	}
	hanging := d.Keyed(rig.CrashThread+"/runs", body("enqueue"), "hanging").Text("run_id")
	unknown := false
	rig.Eventually(t, "the graph is called", func() bool {
		unknown = d.Get(rig.CrashThread+"/runs/"+hanging).Text("status") == "error"
		return unknown || peer.Work() == 1
	})
	if unknown {
		lostRun(d, "the hanging run", rig.CrashThread+"/runs/"+hanging)
		d.End()
		return
	}
	peer.(*adaptertest.ThreadAgent).Play(adaptertest.ChatPlay())
	queued := d.Keyed(rig.CrashThread+"/runs", body("enqueue"), "queued").Text("run_id")
	if a := d.Sure("POST", rig.CrashThread+"/runs/"+queued+"/cancel?wait=true", ""); a.Status/100 != 2 && a.Status != http.StatusConflict {
		t.Errorf("cancel: %d %s", a.Status, a.Body)
	}
	expect(d, "the cancelled run", d.Get(rig.CrashThread+"/runs/"+queued).Text("status"), "interrupted")
	last := d.Keyed(rig.CrashThread+"/runs", body("rollback"), "last").Text("run_id")
	if !lostRun(d, "the last run", rig.CrashThread+"/runs/"+last) {
		expect(d, "the thread", d.Get(rig.CrashThread).Text("status"), "idle")
		expect(d, "runs of the graph", peer.Work(), 2)
		expect(d, "messages", len(d.Get(rig.CrashThread+"/state").List("values.messages")), 4)
	}
	if a := d.Sure("GET", rig.CrashThread+"/runs/"+hanging, ""); a.Status != http.StatusNotFound {
		t.Errorf("the rolled back run still exists: %s", a.Body)
	}
	d.End()
}

// playHandover stops the process while an agent is working.
func playHandover(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	agent := peer.(*adaptertest.StepAgent)
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	run := d.Keyed(rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "run").Text("run_id")
	rig.Eventually(t, "the agent is at work", func() bool {
		return len(agent.Inputs()) >= 2 || d.Get(rig.CrashThread+"/runs/"+run).Text("status") == "error"
	})
	d.End()
	joined, lost := d.Get(rig.CrashThread+"/runs/"+run+"/join"), 0
	if joined.At("__error__.error") == "outcome_unknown" { // the agent does not list the requested work
		lost = 1
	} else {
		expect(d, "the run", d.Get(rig.CrashThread+"/runs/"+run).Text("status"), "success")
		expect(d, "the thread", d.Get(rig.CrashThread).Text("status"), "idle")
	}
	checkWork(t, peer, 1, lost)
	d.End()
}

// playTime checks that work that is due by the clock is done at the start of the second life.
func playTime(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	short := "/threads/" + d.Sure("POST", "/threads", `{"ttl":{"ttl":60,"strategy":"delete"}}`).OK().Text("thread_id")
	const latest = "/threads/11111111-2222-4333-8444-777777777777" // keeps its newest state only
	d.Sure("POST", "/threads", `{"thread_id":"`+latest[9:]+`","if_exists":"do_nothing","ttl":{"ttl":60,"strategy":"keep_latest"}}`).OK()
	for _, key := range []string{"one", "two"} {
		d.Keyed(rig.CrashThread+"/runs/wait", `{"assistant_id":"agent","stream_mode":["messages-tuple","values"],`+rig.SaysHi+`}`, key)
	}
	const ticked = "/threads/11111111-2222-4333-8444-666666666666" // its run must not keep the other's history from going
	d.Sure("POST", "/threads", `{"thread_id":"`+ticked[9:]+`","if_exists":"do_nothing"}`).OK()
	cron := d.Sure("POST", ticked+"/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","multitask_strategy":"enqueue",`+rig.SaysHi+`}`).OK().Text("cron_id")
	before, history := d.Get(rig.CrashThread+"/state").At("values"), d.Get(rig.CrashThread+"/history?limit=100").List("")
	oldest := rig.Dig(history[len(history)-1], "checkpoint.checkpoint_id").(string)
	d.End()
	d.Lapse()
	makeDue(t, d.Dsn, cron, map[string]bool{short[9:]: false, latest[9:]: true})
	runs := func() []any { return d.Get(ticked + "/runs").List("") }
	rig.Eventually(t, "the cron's run is created", func() bool { return len(runs()) == 1 })
	lost := 0
	if lostRun(d, "the cron's run", ticked+"/runs/"+rig.Dig(runs(), "0.run_id").(string)) {
		lost = 1
	}
	rig.Eventually(t, "the cron has its next time", func() bool {
		next, _ := rig.Dig(d.Sure("POST", "/runs/crons/search", `{}`).OK().List(""), "0.next_run_date").(string)
		at, err := time.Parse(time.RFC3339, next)
		return err == nil && time.Until(at) > 0
	})
	rig.Eventually(t, "the thread is deleted", func() bool { return d.Sure("GET", short, "").Status == http.StatusNotFound })
	rig.Eventually(t, "the oldest state is deleted", func() bool { return !rig.Says(string(d.Get(rig.CrashThread+"/history?limit=100").Body), oldest) })
	rig.Eventually(t, "the kept thread has no time to live", func() bool { return d.Get(latest+"?include=ttl").OK().At("ttl") == nil })
	expect(d, "the state", fmt.Sprint(d.Get(rig.CrashThread+"/state").At("values.messages.0")), fmt.Sprint(rig.Dig(before, "messages.0")))
	checkWork(t, peer, 3, lost)
	expect(d, "runs of the cron", len(runs()), 1)
	d.End()
}

// makeDue makes the next time of a cron and the expiry of threads due. For true, the newest state of the thread is
// kept.
func makeDue(t *testing.T, dsn, cron string, threads map[string]bool) {
	t.Helper()
	st := openRecord(t, dsn)
	defer st.Close()
	past := time.Now().Add(-time.Second)
	c, err := st.Crons.Get(t.Context(), cron)
	if err == nil {
		c.Next = past
		_, err = st.Crons.Update(t.Context(), c)
	}
	for id, keepLatest := range threads {
		if err == nil {
			_, err = st.Threads.Patch(t.Context(), id, nil, &store.Expire{At: past, After: time.Hour, KeepLatest: keepLatest})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
