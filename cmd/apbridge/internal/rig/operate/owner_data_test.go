package operate

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// mark is in every text from and to alice. It is one lower-case word, because searches look for such words.
const mark = "zqxmark"

const (
	keyOfAlice = "alice-0123456789abcdef"
	keyOfBob   = "bob---0123456789abcdef"
	keyOfOps   = "ops---0123456789abcdef" // of their tenant
	keyOfRoot  = "root--0123456789abcdef" // of no tenant, with admin by name
	keyOfOwn   = "own---0123456789abcdef"
)

// personal is a bridge with two owners and an agent of each dialect.
type personal struct {
	*rig.Bridge
	graph  *adaptertest.ThreadAgent
	hook   string // of webhooks; refuses all of them
	log    *bytes.Buffer
	folder string
}

func newPersonal(t *testing.T, stepper, graph http.Handler, change ...func(*config.Config)) *personal {
	t.Helper()
	hook := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })).URL
	cfg := rig.ConfigFor(t, map[string]config.Agent{
		"agent": rig.AgentAt(adaptertest.Serve(t, stepper).URL, func(a *config.Agent) { a.Dialect = "taskstep" }),
		"graph": rig.AgentAt(adaptertest.Serve(t, graph).URL, func(a *config.Agent) {
			a.Dialect, a.Headers = "threadrun", map[string]config.Secret{"X-User": "{principal.id}"}
		}),
		"failing": rig.AgentAt(adaptertest.Serve(t, http.HandlerFunc(refuses)).URL, func(a *config.Agent) { a.Dialect = "taskstep" }),
	})
	cfg.Auth.Keys = []config.Key{
		{ID: "alice", Key: keyOfAlice, Tenant: "acme", Limits: config.Allowance{Threads: 100}}, {ID: "bob", Key: keyOfBob, Tenant: "acme"},
		{ID: "ops", Key: keyOfOps, Tenant: "acme", Rights: []string{"admin"}}, {ID: "root", Key: keyOfRoot, Rights: []string{"admin"}},
		{ID: "own", Key: keyOfOwn, Tenant: "acme", Scope: "own"},
	}
	cfg.Webhooks.AllowPrivateNetworks = true
	folder := t.TempDir()
	cfg.Audit.File = filepath.Join(folder, "audit.log")
	for _, c := range change {
		c(cfg)
	}
	p := &personal{hook: hook, log: &bytes.Buffer{}, folder: folder}
	p.graph, _ = graph.(*adaptertest.ThreadAgent)
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(p.log)), zap.DebugLevel)
	p.Bridge = rig.StartLogging(t, cfg, zap.New(core))
	return p
}

func (p *personal) as(key, method, path, body string, headers ...string) rig.Answer {
	p.T.Helper()
	return p.Do(method, path, body, append(headers, "X-Api-Key", key)...)
}

// createAll creates objects of each kind and puts the word into every text.
func (p *personal) createAll(key, word string) (thread, task string) {
	t, say := p.T, func(method, path, body string, headers ...string) rig.Answer {
		p.T.Helper()
		return p.as(key, method, path, strings.ReplaceAll(body, "W", word), headers...).OK()
	}
	thread = say("POST", "/threads", `{"metadata":{"about":"W1"}}`, "Idempotency-Key", word+"2").Text("thread_id")
	say("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"graph","input":{"messages":[{"role":"user","content":"W3"}]},"metadata":{"m":"W4"},"context":{"c":"W5"},
 "config":{"configurable":{"k":"W6"}},"webhook":"`+p.hook+`/W7"}`)
	say("POST", "/threads/"+thread+"/state", `{"values":{"notes":"W8"}}`)
	say("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"W"}]}}`)
	say("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"graph","input":{"messages":[{"role":"user","content":"W"}]}}`) // on a separate upstream thread
	task = say("POST", "/ap/v1/agent/tasks", `{"input":"W9","additional_input":{"a":"W10"}}`).Text("task_id")
	at := "/ap/v1/agent/tasks/" + task
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + word + "11.txt\"\r\n\r\n" + strings.Repeat(word+"12 ", 50_000) + "\r\n--b--\r\n"
	p.as(key, "POST", at+"/artifacts", form, "Content-Type", "multipart/form-data; boundary=b").OK()
	say("POST", at+"/steps", `{"input":"W13"}`)
	say("POST", at+"/steps", ``).Want(t, 200, "Which colour") // a question
	say("POST", at+"/steps", `{"input":"W14"}`)
	say("PUT", "/store/items", `{"namespace":["users","W15"],"key":"W16","value":{"text":"W17","n":1}}`)
	say("POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":"W18"}`)
	say("POST", "/assistants", `{"graph_id":"graph","name":"W19","config":{"configurable":{"k":"W20"}}}`)
	say("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"failing","input":{"messages":[{"role":"user","content":"W24"}]}}`)
	topic := say("POST", "/ap/v2/topics", `{}`).Text("topic_id")
	say("POST", "/ap/v2/topics/"+topic+"/interactions", `{"input":"W21"}`)
	return thread, task
}

type removedPart struct {
	Outcome, Kind, ID, Agent, Why string
	Thread                        string `json:"thread_id"`
	Count                         int
	End                           bool
}

func (p *personal) remove(key, query string) (list []removedPart) {
	p.T.Helper()
	got := p.as(key, "DELETE", "/data?"+query, "").Is(200)
	if how := got.Header.Get("X-Accel-Buffering"); how != "no" {
		p.T.Errorf("X-Accel-Buffering: %q: nginx would buffer the lines", how)
	}
	for line := range strings.Lines(got.String()) {
		var b removedPart
		if err := json.Unmarshal([]byte(line), &b); err != nil {
			p.T.Fatalf("%q: %v", line, err)
		}
		list = append(list, b)
	}
	return list
}

// summary describes a list without ids.
func summary(list []removedPart) (words []string) {
	for _, b := range list {
		words = append(words, strings.TrimSpace(b.Outcome+" "+b.Kind+" "+b.Agent))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func asking() *adaptertest.StepAgent {
	a := rig.Curious(1)
	for i := range a.Script {
		a.Script[i].Files = [][2]string{{fmt.Sprintf("out/%s22-%d.txt", mark, i), mark + "23"}}
	}
	return a
}

func chats() *adaptertest.ThreadAgent {
	return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}}
}

// TestOwnersDataIsRemoved checks that an owner's data in each place is counted, exported and removed: no byte of it is
// in any file afterwards, while the bridge serves. Other owners' data is unchanged.
func TestOwnersDataIsRemoved(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]config.Secret{"plain": nil, "sealed": {"YW5vdGhlciBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyA="}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oneOwnersDataGoes(t, keys)
		})
	}
}

func oneOwnersDataGoes(t *testing.T, keys []config.Secret) {
	t.Helper()
	p := newPersonal(t, asking(), chats(), func(c *config.Config) { c.Encryption.Keys = keys })
	bobs := createThread(p, keyOfBob, "bobsword")
	before := p.rows()
	thread, task := p.createAll(keyOfAlice, mark)
	if p.found() == nil && !strings.Contains(p.Cfg.Database, "://") {
		t.Error("the mark is in no file before the removal")
	}
	if files := p.foundInBodies(); (files == nil) != (keys != nil) && !strings.Contains(p.Cfg.Database, "://") {
		t.Errorf("sealed text is in %v", files)
	}
	held := p.as(keyOfOps, "GET", "/data?owner=alice", "").Is(200)
	kinds := map[string]float64{}
	for _, k := range held.List("kinds") {
		kinds[rig.Dig(k, "kind").(string)] = rig.Dig(k, "count").(float64)
	}
	for kind, least := range map[string]float64{
		"threads": 3, "runs": 3, "tasks": 3, "events": 20, "files": 2, "items": 1, "crons": 1, "assistants": 1,
		"webhooks": 1, "calls of agents": 1, "idempotency keys": 1, "requests for steps": 2,
	} {
		if kinds[kind] < least {
			t.Errorf("%v %s, want at least %v: %s", kinds[kind], kind, least, held)
		}
	}
	if !rig.Says(held.String(), `"agent":"graph","count":2`, `"agent":"agent"`, "no way to delete") {
		t.Errorf("copies: %s", held)
	}
	p.checkExport(thread, task)

	if threads := p.graph.Threads(); threads != 3 {
		t.Errorf("the graph has %d threads before", threads)
	}
	list := p.remove(keyOfOps, "owner=alice")
	want := []string{"", "kept copy agent", "removed assistant", "removed copy graph", "removed cron", "removed database", "removed items", "removed thread"}
	if strings.Contains(p.Cfg.Database, "://") {
		want = []string{"", "kept copy agent", "kept database", "removed assistant", "removed copy graph", "removed cron", "removed items", "removed thread"}
	}
	if diff := cmp.Diff(want, summary(list)); diff != "" || !list[len(list)-1].End {
		t.Errorf("removed parts (-want +got):\n%s\n%+v", diff, list)
	}
	if files := p.found(); files != nil {
		t.Errorf("the mark is still in %v", files)
	}
	if after := p.rows(); after != before {
		t.Errorf("rows of other owners changed:\n%s", cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
	}
	if threads := p.graph.Threads(); threads != 1 {
		t.Errorf("the graph has %d threads afterwards", threads)
	}
	p.as(keyOfBob, "GET", bobs, "").Want(t, 200, "bobsword")
	p.as(keyOfOps, "GET", "/data?owner=alice", "").Want(t, 200, `"kinds":[]`)
	p.createAll(keyOfAlice, mark) // alice may use the bridge again
	p.End()
	if strings.Contains(p.log.String(), mark) {
		t.Error("the mark is in the log")
	}
	audited, err := os.ReadFile(p.Cfg.Audit.File)
	whole, part := `"operation":"deleted","kind":"owner","objects":[{"kind":"owner","id":"alice"}]`, `"operation":"deleted","kind":"thread","objects":[{"kind":"thread","id":"`+thread+`"}]`
	if err != nil || !rig.Says(string(audited), whole, part) {
		t.Errorf("the audit log: %s %v", audited, err)
	}
}

// Webhooks and idempotency keys outlive their objects. They still belong to their owner and are counted, exported and
// removed. Those of other owners stay.
func TestWebhooksAndIdempotencyKeysAreRemovedWithTheirOwner(t *testing.T) {
	t.Parallel()
	p := newPersonal(t, asking(), chats(), func(c *config.Config) { c.Retention.Stateless = 0 })
	for key, word := range map[string]string{keyOfAlice: mark, keyOfBob: "bobsword"} {
		run := func(at string) {
			p.as(key, "POST", at, `{"assistant_id":"graph","input":{"messages":[{"role":"user","content":"`+word+`"}]},"webhook":"`+p.hook+`"}`, "Idempotency-Key", word+at).OK()
		}
		run("/runs/wait") // its thread is deleted when it ends
		thread := p.as(key, "POST", "/threads", `{}`, "Idempotency-Key", word).OK().Text("thread_id")
		run("/threads/" + thread + "/runs/wait")
		p.as(key, "DELETE", "/threads/"+thread, "").OK()
	}
	held := func(owner string) string {
		kinds := map[string]float64{}
		for _, k := range p.as(keyOfOps, "GET", "/data?owner="+owner, "").Is(200).List("kinds") {
			kinds[rig.Dig(k, "kind").(string)] = rig.Dig(k, "count").(float64)
		}
		return fmt.Sprint(kinds)
	}
	const rest = "map[idempotency keys:3 webhooks:2]"
	rig.Eventually(t, "the stateless runs are gone", func() bool { return held("alice") == rest && held("bob") == rest })
	export := p.as(keyOfOps, "GET", "/data/export?owner=alice", "").Is(200).String()
	if !rig.Says(export, `"owner":"alice"`, "rows/outbox-001.ndjson", "rows/idempotency-001.ndjson") || strings.Contains(export, "bobsword") {
		t.Errorf("the export has %q", export)
	}
	list := p.remove(keyOfOps, "owner=alice")
	if got := summary(list); !slices.Contains(got, "removed webhooks") || !slices.Contains(got, "removed idempotency keys") {
		t.Errorf("%v", got)
	}
	if alice, bob := held("alice"), held("bob"); alice != "map[]" || bob != rest {
		t.Errorf("alice has %s, bob has %s", alice, bob)
	}
	if files := p.found(); files != nil {
		t.Errorf("the mark is still in %v", files)
	}
}

// createThread creates a thread and an item of an owner and returns the thread's path.
func createThread(p *personal, key, word string) string {
	at := "/threads/" + p.as(key, "POST", "/threads", `{"metadata":{"about":"`+word+`"}}`).OK().Text("thread_id")
	p.as(key, "POST", at+"/runs/wait", `{"assistant_id":"graph","input":{"messages":[{"role":"user","content":"`+word+`"}]}}`).OK()
	p.as(key, "PUT", "/store/items", `{"namespace":["users"],"key":"k","value":{"text":"`+word+`"}}`).OK()
	return at
}

// checkExport checks that an exported archive has each marked text and the bytes of files, and no data of other owners.
func (p *personal) checkExport(thread, task string) {
	p.T.Helper()
	whole := p.as(keyOfOps, "GET", "/data/export?owner=alice", "").Is(200)
	files, all := map[string]string{}, ""
	for from := tar.NewReader(bytes.NewReader(whole.Body)); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.T.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			p.T.Fatal(err)
		}
		files[h.Name], all = string(text), all+h.Name+string(text)
	}
	for n := 1; n <= 21; n++ {
		if !strings.Contains(all, fmt.Sprintf("%s%d", mark, n)) {
			p.T.Errorf("%s%d is not in the export", mark, n)
		}
	}
	if calls := files["rows/run_calls-001.ndjson"]; !strings.Contains(calls, mark+"24") {
		p.T.Errorf("the calls of a failed run are not in the export: %s", calls)
	}
	for _, name := range []string{"README.txt", "held.json", "threads/" + thread + ".json", "rows/events-001.ndjson"} {
		if files[name] == "" {
			p.T.Errorf("%s is not in the export", name)
		}
	}
	if got := files["files/"+task+"/"+mark+"11.txt"]; got != strings.Repeat(mark+"12 ", 50_000) {
		p.T.Errorf("the file has %d bytes", len(got))
	}
	if strings.Contains(all, "bobsword") {
		p.T.Error("there is something of another owner in the export")
	}
}
