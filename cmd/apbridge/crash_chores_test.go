package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// choreScenes are what runs and steps are not: everything else that is written.
func choreScenes() []scene {
	plain := func() adaptertest.Peer { return adaptertest.NewStepAgent(adaptertest.Python) }
	return []scene{
		{name: "items, threads and crons", peer: plain, play: playRecords},
		{name: "topics and files", peer: plain, environ: []string{"APBRIDGE_LIMITS__ARTIFACT=4KiB"}, play: playFiles},
		{name: "state updates before a graph", peer: chats, play: playUpdates},
		{name: "assistants", peer: chats, play: playAssistants},
		{name: "runs that are stopped", peer: hangsOnce, deletes: true, play: playStops},
		{name: "runs that are handed over", peer: hangsInAStep, environ: []string{"APBRIDGE_SHUTDOWN_GRACE=50ms"}, play: playHandover},
		{name: "what time does", peer: chats, spared: 1, deletes: true, environ: []string{"APBRIDGE_RETENTION__EVENTS=1ms", "APBRIDGE_RETENTION__CHECKPOINTS=1ms"}, play: playTime},
	}
}

func chats() adaptertest.Peer {
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
}

func hangsOnce() adaptertest.Peer {
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.HangPlay()}}
}

func hangsInAStep() adaptertest.Peer {
	a := adaptertest.NewStepAgent(adaptertest.Python)
	a.Script[1].Fault = adaptertest.Hang
	return a
}

// gone sends what makes something go; the second time it is not there any more.
func (d *doomed) gone(method, path, body string) {
	d.t.Helper()
	if a := d.sure(method, path, body); a.status/100 != 2 && (a.status != http.StatusNotFound || !d.died) {
		d.t.Errorf("%s answered %d: %.300s", a.name, a.status, a.body)
	}
}

// count is how many things a search finds.
func (d *doomed) count(path, body string) int {
	d.t.Helper()
	return len(d.sure("POST", path, body).ok().list(""))
}

func (d *doomed) expect(what string, got, want any) {
	d.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lost waits for the end of a run and reports whether its outcome is unknown: the process
// died when its agent may have been told of it. Else it must have succeeded.
func (d *doomed) lost(what, run string) bool {
	d.t.Helper()
	joined := d.get(run + "/join")
	if d.died && joined.at("__error__.error") == "outcome_unknown" {
		return true
	}
	d.expect(what, d.get(run).text("status"), "success")
	return false
}

func playRecords(t *testing.T, d *doomed, _ adaptertest.Peer) {
	d.sure("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"a":1},"ttl":60}`).ok()
	d.expect("the item", d.get("/store/items?namespace=n&key=k&refresh_ttl=true").at("value.a"), 1)
	d.gone("DELETE", "/store/items", `{"namespace":["n"],"key":"k"}`)

	d.sure("POST", "/threads", `{"thread_id":"`+crashThread[9:]+`","if_exists":"do_nothing"}`).ok()
	d.sure("PATCH", crashThread, `{"metadata":{"a":"b"}}`).ok()
	messages := func() int { return len(d.get(crashThread + "/state").list("values.messages")) }
	d.either(func() bool { return messages() == 1 }, "POST", crashThread+"/state", `{"values":{"messages":[{"role":"user","content":"hi"}]}}`)
	d.expect("messages", messages(), 1)
	d.either(func() bool { return d.count("/threads/search", `{}`) == 2 }, "POST", crashThread+"/copy", "")
	for _, th := range d.sure("POST", "/threads/search", `{}`).ok().list("") {
		if id := dig(th, "thread_id").(string); id != crashThread[9:] {
			d.expect("messages of the copy", len(d.get("/threads/"+id+"/state").list("values.messages")), 1)
			d.gone("DELETE", "/threads/"+id, "")
		}
	}
	d.expect("threads", d.count("/threads/search", `{}`), 1)

	d.expect("assistants", d.count("/assistants/search", `{}`), 1)

	crons := func() int { return d.count("/runs/crons/search", `{}`) }
	d.either(func() bool { return crons() == 1 }, "POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *",`+saysHi+`}`)
	id := dig(d.sure("POST", "/runs/crons/search", `{}`).list(""), "0.cron_id").(string)
	d.sure("PATCH", "/runs/crons/"+id, `{"schedule":"@yearly"}`).ok()
	d.gone("DELETE", "/runs/crons/"+id, "")
	d.expect("crons", crons(), 0)
	run := d.keyed(crashThread+"/runs", `{"assistant_id":"agent",`+saysHi+`}`, "run").text("run_id")
	d.get(crashThread + "/runs/" + run + "/join")
	d.gone("DELETE", crashThread+"/runs/"+run, "")
	const one = `{"assistant_id":"agent","on_completion":"keep",` + saysHi + `}`
	batch := func() []any { return d.keyed("/runs/batch", `[`+one+`,`+one+`]`, "batch").list("") }
	first := batch()
	for i, r := range batch() {
		if id := dig(r, "run_id"); i >= len(first) || id != dig(first[i], "run_id") {
			t.Errorf("run %d of the batch is another one the second time: %v", i, id)
		}
		d.get("/threads/" + dig(r, "thread_id").(string) + "/runs/" + dig(r, "run_id").(string) + "/join")
	}
	d.expect("runs of the batch", len(first), 2)
	d.get("/readyz")
	d.end()
}

// playUpdates: an agent takes an update of a thread's state and refuses another one;
// neither keeps the thread from a run.
func playUpdates(t *testing.T, d *doomed, _ adaptertest.Peer) {
	d.sure("POST", "/threads", `{"thread_id":"`+crashThread[9:]+`","if_exists":"do_nothing"}`).ok()
	run := func(key string) (lost bool) {
		id := d.keyed(crashThread+"/runs", `{"assistant_id":"agent",`+saysHi+`}`, key).text("run_id")
		return d.lost("the run", crashThread+"/runs/"+id)
	}
	bare := run("first") // then the agent has no part in the thread's state
	const update = `{"values":{"messages":[{"id":"m","type":"human","content":"hi"}]}`
	messages := func() int { return len(d.get(crashThread + "/state").list("values.messages")) }
	d.either(func() bool { return messages() == 1 }, "POST", crashThread+"/state", update+`}`)
	d.expect("messages", messages(), 1)
	if a := d.sure("POST", crashThread+"/state", update+`,"as_node":"`+adaptertest.NoNode+`"}`); (a.status/100 == 2) != bare {
		t.Errorf("an update as a node that is not there: %d %s", a.status, a.body)
	}
	d.expect("messages after a refusal", messages(), 1)
	status := map[bool]string{false: "idle", true: "error"}[run("second")]
	d.expect("the thread", d.get(crashThread).text("status"), status)
	d.end()
}

func playAssistants(t *testing.T, d *doomed, _ adaptertest.Peer) {
	const at = "/assistants/11111111-2222-4333-8444-777777777777"
	if n := len(d.get("/assistants/agent/graph").list("nodes")); n == 0 {
		t.Error("the graph has no nodes")
	}
	d.sure("POST", "/assistants", `{"assistant_id":"`+at[12:]+`","graph_id":"agent","name":"one","if_exists":"do_nothing"}`).ok()
	name := func() any { return d.get(at).at("name") }
	d.either(func() bool { return name() == "two" }, "PATCH", at, `{"name":"two"}`)
	d.expect("the name", name(), "two")
	d.sure("POST", at+"/latest", `{"version":1}`).ok()
	d.expect("the first name", name(), "one")
	d.gone("DELETE", at, "")
	d.expect("the assistant", d.sure("GET", at, "").status, http.StatusNotFound)
	d.end()
}

// form is an upload as v1 clients send it.
func form(name, content string) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("relative_path", "in") // before the file, so that nobody has to hold it
	part, _ := w.CreateFormFile("file", name)
	fmt.Fprint(part, content)
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func playFiles(t *testing.T, d *doomed, peer adaptertest.Peer) {
	topics := func() []any { return d.get("/ap/v2/topics").list("topics") }
	d.either(func() bool { return len(topics()) == 1 }, "POST", "/ap/v2/topics", `{}`)
	id := dig(topics(), "0.topic_id").(string)
	said := func() []any { return d.get("/ap/v2/topics/" + id + "/interactions").list("interactions") }
	d.either(func() bool { return len(said()) == 1 }, "POST", "/ap/v2/topics/"+id+"/interactions", `{"input":"hi"}`)
	d.expect("interactions", len(said()), 1)

	task := d.keyed("/ap/v1/agent/tasks", `{"input":"hi"}`, "task").text("task_id")
	at := "/ap/v1/agent/tasks/" + task
	files := func() []any { return d.get(at + "/artifacts").list("artifacts") }
	small, typ := form("a.txt", strings.Repeat("x", 1000))
	for sent := false; !sent && len(files()) == 0; {
		_, sent = d.try("POST", at+"/artifacts", small, "Content-Type", typ)
	}
	d.expect("files", len(files()), 1)
	large, typ := form("b.txt", strings.Repeat("x", 5000))
	if a := d.sure("POST", at+"/artifacts", large, "Content-Type", typ); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("an upload over the limit: %d %s", a.status, a.body)
	}
	d.expect("files", len(files()), 1)
	file := dig(files(), "0.artifact_id").(string)
	d.expect("bytes", len(d.get(at+"/artifacts/"+file).body), 1000)
	steps := taskScene{keys: true}.pull(d, at, "task")
	unknown := d.died && steps[len(steps)-1].at("additional_output.error.type") == "outcome_unknown"
	if got, _ := peer.(*adaptertest.StepAgent).Received("in/a.txt"); len(got) != 1000 && !unknown {
		t.Errorf("the agent received %d bytes", len(got))
	}
	d.end()
}

// playStops: a run hangs, one behind it is cancelled, and a third has the first
// rolled back. Where nobody knows whether the first was begun, there is nothing to stop.
func playStops(t *testing.T, d *doomed, peer adaptertest.Peer) {
	d.sure("POST", "/threads", `{"thread_id":"`+crashThread[9:]+`","if_exists":"do_nothing"}`).ok()
	body := func(strategy string) string {
		return `{"assistant_id":"agent","multitask_strategy":"` + strategy + `",` + saysHi + `}`
	}
	hanging := d.keyed(crashThread+"/runs", body("enqueue"), "hanging").text("run_id")
	unknown := false
	eventually(t, "the graph is asked", func() bool {
		unknown = d.get(crashThread+"/runs/"+hanging).text("status") == "error"
		return unknown || peer.Work() == 1
	})
	if unknown {
		d.lost("the hanging run", crashThread+"/runs/"+hanging)
		d.end()
		return
	}
	peer.(*adaptertest.ThreadAgent).Play(adaptertest.ChatPlay())
	queued := d.keyed(crashThread+"/runs", body("enqueue"), "queued").text("run_id")
	if a := d.sure("POST", crashThread+"/runs/"+queued+"/cancel?wait=true", ""); a.status/100 != 2 && a.status != http.StatusConflict {
		t.Errorf("cancel: %d %s", a.status, a.body)
	}
	d.expect("the cancelled run", d.get(crashThread+"/runs/"+queued).text("status"), "interrupted")
	last := d.keyed(crashThread+"/runs", body("rollback"), "last").text("run_id")
	if !d.lost("the last run", crashThread+"/runs/"+last) {
		d.expect("the thread", d.get(crashThread).text("status"), "idle")
		d.expect("runs of the graph", peer.Work(), 2)
		d.expect("messages", len(d.get(crashThread+"/state").list("values.messages")), 4)
	}
	if a := d.sure("GET", crashThread+"/runs/"+hanging, ""); a.status != http.StatusNotFound {
		t.Errorf("what was rolled back is there: %s", a.body)
	}
	d.end()
}

// playHandover: the process is told to stop while an agent is at work.
func playHandover(t *testing.T, d *doomed, peer adaptertest.Peer) {
	agent := peer.(*adaptertest.StepAgent)
	d.sure("POST", "/threads", `{"thread_id":"`+crashThread[9:]+`","if_exists":"do_nothing"}`).ok()
	run := d.keyed(crashThread+"/runs", `{"assistant_id":"agent",`+saysHi+`}`, "run").text("run_id")
	eventually(t, "the agent is at work", func() bool {
		return len(agent.Inputs()) >= 2 || d.get(crashThread+"/runs/"+run).text("status") == "error"
	})
	d.end()
	joined, lost := d.get(crashThread+"/runs/"+run+"/join"), 0
	if joined.at("__error__.error") == "outcome_unknown" { // the agent does not list what it was asked for
		lost = 1
	} else {
		d.expect("the run", d.get(crashThread+"/runs/"+run).text("status"), "success")
		d.expect("the thread", d.get(crashThread).text("status"), "idle")
	}
	checkWork(t, peer, 1, lost)
	d.end()
}

// playTime: what a clock brings about happens in the second life, right at its
// start.
func playTime(t *testing.T, d *doomed, peer adaptertest.Peer) {
	d.sure("POST", "/threads", `{"thread_id":"`+crashThread[9:]+`","if_exists":"do_nothing"}`).ok()
	short := "/threads/" + d.sure("POST", "/threads", `{"ttl":{"ttl":0.0001,"strategy":"delete"}}`).ok().text("thread_id")
	const latest = "/threads/11111111-2222-4333-8444-777777777777" // keeps its newest state only
	d.sure("POST", "/threads", `{"thread_id":"`+latest[9:]+`","if_exists":"do_nothing","ttl":{"ttl":0.0001,"strategy":"keep_latest"}}`).ok()
	for _, key := range []string{"one", "two"} {
		d.keyed(crashThread+"/runs/wait", `{"assistant_id":"agent","stream_mode":["messages-tuple","values"],`+saysHi+`}`, key)
	}
	const ticked = "/threads/11111111-2222-4333-8444-666666666666" // its run must not keep the other's history from going
	d.sure("POST", "/threads", `{"thread_id":"`+ticked[9:]+`","if_exists":"do_nothing"}`).ok()
	cron := d.sure("POST", ticked+"/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","multitask_strategy":"enqueue",`+saysHi+`}`).ok().text("cron_id")
	before, history := d.get(crashThread+"/state").at("values"), d.get(crashThread+"/history?limit=100").list("")
	oldest := dig(history[len(history)-1], "checkpoint.checkpoint_id").(string)
	d.end()
	d.lapse()
	st := openRecord(t, d.dsn)
	c, err := st.Cron(t.Context(), cron)
	if err != nil {
		t.Fatal(err)
	}
	c.Next = time.Now().Add(-time.Second)
	if _, err := st.UpdateCron(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_ = st.Close()
	runs := func() []any { return d.get(ticked + "/runs").list("") }
	eventually(t, "the cron's run is made", func() bool { return len(runs()) == 1 })
	lost := 0
	if d.lost("the cron's run", ticked+"/runs/"+dig(runs(), "0.run_id").(string)) {
		lost = 1
	}
	eventually(t, "the cron has moved on", func() bool {
		next, _ := dig(d.sure("POST", "/runs/crons/search", `{}`).ok().list(""), "0.next_run_date").(string)
		at, err := time.Parse(time.RFC3339, next)
		return err == nil && time.Until(at) > 0
	})
	eventually(t, "the thread is gone", func() bool { return d.sure("GET", short, "").status == http.StatusNotFound })
	eventually(t, "the oldest state is forgotten", func() bool { return !says(string(d.get(crashThread+"/history?limit=100").body), oldest) })
	eventually(t, "the time of the thread that stays is over", func() bool { return d.get(latest).ok().at("ttl") == nil })
	d.expect("the state", fmt.Sprint(d.get(crashThread+"/state").at("values.messages.0")), fmt.Sprint(dig(before, "messages.0")))
	checkWork(t, peer, 3, lost)
	d.expect("runs of the cron", len(runs()), 1)
	d.end()
}
