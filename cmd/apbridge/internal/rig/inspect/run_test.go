package inspect

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

const hostileWords = `<script>alert(1)</script>` + "\u202e\x1b[31m"

// hostile returns an agent that fails at each step with harmful texts.
func hostile() http.Handler {
	works := legacyagent.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/steps") {
			works.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Set-Cookie", "session=canary")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s %s %s", hostileWords, r.Header.Get("X-Secret"), strings.Repeat("x", 100<<10))
	})
}

// newestRun returns the first run in the inspector's list.
func newestRun(b *rig.Bridge) string { return b.Get("/inspect").OK().Text("runs.0.run_id") }

// TestInspectorShowsARun checks the events of a run with a column for each dialect, for either kind of agent.
func TestInspectorShowsARun(t *testing.T) {
	t.Parallel()
	for kind, agent := range map[string]http.Handler{"taskstep": legacyagent.Handler(), "threadrun": threadagent.Handler()} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := rig.Configured(t, "inspector: {capture: all}"+rig.OneAgent, map[string]http.Handler{"a": agent})
			b.Wait("hi").OK()
			id := newestRun(b)
			at := "/inspect/runs/" + id
			v := b.Get(at).OK()
			if v.Text("columns.0") != "Thread and run" || v.Text("columns.1") != "Task and step" || v.At("whole") != true || v.At("timing.agent_known") != true {
				t.Errorf("%s", v)
			}
			steps := 0
			for _, bar := range v.List("story.bars") {
				if rig.Dig(bar, "kind") == "step" {
					steps++
				}
			}
			if got := b.Get("/inspect/threads/" + v.Text("thread_id")).OK().At("tree.groups.0.checkpoints.0.step"); got != float64(steps) {
				t.Errorf("after %d steps the newest checkpoint has the number %v", steps, got)
			}
			kinds := fmt.Sprint(rig.Pluck(v.List("rows"), "kind"))
			if !strings.HasPrefix(kinds, "[started") || !strings.Contains(kinds, "call") || !strings.HasSuffix(kinds, "end]") && !strings.HasSuffix(kinds, "call]") {
				t.Errorf("rows %s", kinds)
			}
			beside := slices.ContainsFunc(v.List("rows"), func(row any) bool {
				return rig.Dig(row, "cells.0.0.name") != nil && strings.HasPrefix(fmt.Sprint(rig.Dig(row, "cells.1.0.name")), "step ") && rig.Dig(row, "kind") == "update"
			})
			if !beside {
				t.Errorf("no step is in the row of its update: %s", v)
			}
			for _, row := range v.List("rows") {
				checkCells(t, b, at, row)
			}
			page := b.Do("GET", at, "", asBrowser...).OK()
			if text := string(page.Body); !rig.Says(text, "Thread and run clients get", "Task and step clients get", "/calls/1", "the end of the run") || strings.Contains(text, `="/`) {
				t.Errorf("%s", text)
			}
		})
	}
}

// checkCells checks that each cell links to the bytes as they were sent.
func checkCells(t *testing.T, b *rig.Bridge, at string, row any) {
	t.Helper()
	seq, ok := rig.Dig(row, "seq").(float64)
	if !ok {
		return
	}
	event := b.Get(fmt.Sprintf("%s/log/%.0f", at, seq)).OK()
	for _, side := range event.List("seen") {
		sights, _ := rig.Dig(side, "sights").([]any)
		for _, s := range sights {
			raw := b.Get(fmt.Sprintf("%s/log/%.0f/%s", at, seq, rig.Dig(s, "part"))).OK()
			if float64(len(raw.Body)) != rig.Dig(s, "size") || len(raw.Body) == 0 || !strings.HasPrefix(raw.Header.Get("Content-Disposition"), "attachment") {
				t.Errorf("event %.0f, %v: %s", seq, rig.Dig(s, "name"), raw)
			}
		}
	}
}

// TestInspectorShowsFailedResponses checks that the response that failed a run is shown as text, without secrets, and
// shortened.
func TestInspectorShowsFailedResponses(t *testing.T) {
	t.Parallel()
	const agent = "\nagents: {a: {url: $A, headers: {X-Secret: 'canary-secret'}}}"
	for capture, kept := range map[string]bool{"errors": true, "all": true, "off": false} {
		t.Run(capture, func(t *testing.T) {
			t.Parallel()
			b := rig.Configured(t, "inspector: {capture: "+capture+"}"+agent, map[string]http.Handler{"a": hostile()})
			b.Wait("hi")
			at := "/inspect/runs/" + newestRun(b)
			v := b.Get(at).OK()
			if v.Text("status") != "error" || v.Text("error.code") == "" {
				t.Fatalf("%s", v)
			}
			page := b.Do("GET", at, "", asBrowser...).OK()
			if !kept {
				if len(v.List("calls")) != 0 || v.At("answered") != nil || !rig.Says(string(page.Body), "inspector.capture: off") {
					t.Errorf("%s", page)
				}
				return
			}
			if text := string(page.Body); !rig.Says(text, `&lt;script&gt;alert(1)&lt;/script&gt;\u{202e}\u{1b}[31m [hidden]`, "status 500") || strings.Contains(text, "<script>a") || strings.ContainsAny(text, "\u202e\x1b") {
				t.Errorf("%s", text)
			}
			n := fmt.Sprintf("%.0f", v.At("answered.n"))
			call := b.Get(at + "/calls/" + n).OK()
			if call.At("status") != 500.0 || call.At("received.cut") != true || call.At("received.size").(float64) <= 64<<10 || call.At("received.kept").(float64) > 64<<10 {
				t.Errorf("%.2000s", call)
			}
			har, lines := b.Get(at+"/export/har").OK(), b.Get(at+"/export/ndjson").OK()
			if har.Text("log.version") != "1.2" || len(har.List("log.entries")) != len(v.List("calls")) {
				t.Errorf("%.2000s", har)
			}
			if first, _, _ := strings.Cut(string(lines.Body), "\n"); !rig.Says(first, `"apbridge_run":1`, `"status":"error"`) || !rig.Says(string(lines.Body), `"kind":"end"`, `"call":`+n) {
				t.Errorf("%.2000s", lines)
			}
			for what, a := range map[string]rig.Answer{"page": page, "call": call, "har": har, "lines": lines, "bytes": b.Get(at + "/calls/" + n + "/received").OK()} {
				if strings.Contains(string(a.Body), "canary") {
					t.Errorf("the %s contains a secret", what)
				}
			}
		})
	}
}

// TestInspectorKeepsCallsAsConfigured checks that calls of a successful run are only kept with "all", and are deleted
// with the run.
func TestInspectorKeepsCallsAsConfigured(t *testing.T) {
	t.Parallel()
	for capture, kept := range map[string]bool{"errors": false, "all": true, "off": false} {
		b := rig.Configured(t, "inspector: {capture: "+capture+"}"+rig.OneAgent, rig.Legacy())
		b.Wait("hi").OK()
		at := "/inspect/runs/" + newestRun(b)
		v := b.Get(at).OK()
		if n := len(v.List("calls")); (n > 0) != kept {
			t.Errorf("%s: %d calls were kept", capture, n)
		}
		page := show(t, b, at).String()
		inOrder(t, page, "Where the time went", `data-colour="step"><`, `id="axis"`)
		if strings.Contains(page, `data-colour="call" hidden`) == kept || strings.Contains(page, `id="calls" hidden`) != kept {
			t.Errorf("%s: %s", capture, page)
		}
		b.Do("DELETE", "/threads/"+v.Text("thread_id"), "").Is(204)
		for _, path := range []string{at, at + "/calls/1", at + "/log/1", at + "/events", at + "/export/har"} {
			b.Get(path).Want(t, 404)
		}
	}
}

// TestInspectorHidesRunsOfOtherTenants checks that runs of another tenant are not found, nor are invalid ids.
func TestInspectorHidesRunsOfOtherTenants(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, `
inspector: {capture: all}
auth: {keys: [{id: mine, key: 0123456789abcdef0123456789abcdef, tenant: one}, {id: other, key: 1123456789abcdef0123456789abcdef, tenant: two}]}`+rig.OneAgent, rig.Legacy())
	mine, other := []string{"X-Api-Key", "0123456789abcdef0123456789abcdef"}, []string{"X-Api-Key", "1123456789abcdef0123456789abcdef"}
	b.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]}}`, mine...).OK()
	id := b.Do("GET", "/inspect", "", mine...).OK().Text("runs.0.run_id")
	for _, path := range []string{"", "/events", "/log/1", "/log/1/data", "/calls/1", "/calls/1/sent", "/export/ndjson", "/export/har"} {
		if path != "/events" {
			b.Do("GET", "/inspect/runs/"+id+path, "", mine...).OK()
		}
		b.Do("GET", "/inspect/runs/"+id+path, "", other...).Want(t, 404)
		b.Do("GET", "/inspect/runs/nothing"+path, "", mine...).Want(t, 404)
	}
	for _, path := range []string{"/log/x", "/log/99999", "/log/1/nothing", "/calls/x", "/calls/999", "/calls/1/nothing", "/export/pdf"} {
		b.Do("GET", "/inspect/runs/"+id+path, "", mine...).Want(t, 404)
	}
	b.Do("GET", "/inspect/runs/"+id+"?after=x", "", mine...).Want(t, 422)
}

// TestInspectorPagesALongRun checks that every event is on one page, and that steps are counted across all of them.
func TestInspectorPagesALongRun(t *testing.T) {
	t.Parallel()
	const steps = 9_990
	play := adaptertest.ChatPlay()
	play.Frames = slices.Concat(play.Frames[:8], slices.Repeat([]string{`updates {"think":{}}`, `updates {"work":{"n":1}}`}, steps/2), play.Frames[8:])
	b := rig.InFront(t, &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{play}}, rig.AsThreads, func(a *config.Agent) { a.MaxSteps = steps })
	b.Wait("hi").OK()
	at := "/inspect/runs/" + newestRun(b)
	begun := time.Now()
	b.Do("GET", at, "", asBrowser...).OK()
	t.Logf("the first page took %s", time.Since(begun))
	var seqs, names []string
	for next := "0"; next != ""; {
		v := b.Get(at + "?limit=1000&after=" + next).OK()
		for _, row := range v.List("rows") {
			if seq := rig.Dig(row, "seq"); seq != nil {
				seqs = append(seqs, fmt.Sprintf("%.0f", seq))
			}
			for _, s := range dugList(row, "cells.1") {
				names = append(names, fmt.Sprint(rig.Dig(s, "name")))
			}
		}
		if next = ""; v.At("next") != nil {
			next = fmt.Sprintf("%.0f", v.At("next"))
		}
	}
	unique := slices.Compact(slices.Clone(seqs))
	if len(seqs) < steps || len(unique) != len(seqs) || !slices.Contains(names, fmt.Sprintf("step %d", steps/2)) {
		t.Errorf("%d events, %d of them once, newest step %v", len(seqs), len(unique), names[max(0, len(names)-2):])
	}
}

func dugList(v any, path string) []any {
	list, _ := rig.Dig(v, path).([]any)
	return list
}

// TestInspectorPreviewsFiles checks that previews are plain text without scripts, whatever type the agent declares.
func TestInspectorPreviewsFiles(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	b.Wait("hi").OK()
	at := "/inspect/runs/" + newestRun(b)
	files := b.Get(at).OK().List("files")
	if len(files) != 1 || rig.Dig(files[0], "preview") != "text" {
		t.Fatalf("files %v", files)
	}
	shown := b.Get(fmt.Sprintf("/inspect/threads/%s/files/%v/preview", b.Get(at).OK().Text("thread_id"), rig.Dig(files[0], "version"))).OK()
	policy := shown.Header.Get("Content-Security-Policy")
	if shown.String() != "42" || shown.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !rig.Says(policy, "sandbox", "default-src 'none'") {
		t.Errorf("%s, %s, %s", shown, shown.Header.Get("Content-Type"), policy)
	}
	page := b.Do("GET", at, "", asBrowser...).OK()
	if !strings.Contains(string(page.Body), `<iframe class="preview" sandbox title="Preview of out/result.txt"`) {
		t.Errorf("%s", page)
	}
}

// TestRunsKeepTheirFiles checks that a run shows the version of a file that it wrote, not that of a later run, and a file in
// its messages with a preview.
func TestRunsKeepTheirFiles(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	at, words := b.Thread(), []string{"first words", "second words"}
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}` // text, which the agent repeats
	var runs []string
	for n, said := range words {
		b.On(at, fmt.Sprintf(`{"assistant_id":"a","input":{"messages":[{"role":"user","id":"m%d","content":[{"type":"text","text":"%s"},%s]}]}}`, n, said, image))
		runs = append(runs, newestRun(b))
	}
	for n, want := range words {
		v := b.Get("/inspect/runs/" + runs[n]).OK()
		files := v.List("files")
		if len(files) != 1 || rig.Dig(files[0], "path") != "answer.txt" {
			t.Fatalf("%s", v)
		}
		if got := b.Get(fmt.Sprintf("/inspect%s/files/%v/preview", at, rig.Dig(files[0], "version"))).OK().String(); !strings.Contains(got, want) {
			t.Errorf("run %d shows %q, want %q", n, got, want)
		}
		for _, page := range []string{"/inspect/runs/" + runs[n], "/inspect" + at} {
			show(t, b, page).Want(t, 200, fmt.Sprintf(`title="Preview of m%d.png"`, n))
		}
	}
}

// TestInspectorShowsUnsupportedFields checks that each unsupported field of a run has the reason from the loss table.
func TestInspectorShowsUnsupportedFields(t *testing.T) {
	t.Parallel()
	b := rig.Configured(t, rig.OneAgent, rig.Legacy())
	b.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":"hi"}]},"context":{"a":1},"config":{"recursion_limit":7},"durability":"sync"}`)
	at := "/inspect/runs/" + newestRun(b)
	v := b.Get(at).OK()
	losses := v.List("losses")
	page := string(b.Do("GET", at, "", asBrowser...).OK().Body)
	for _, l := range losses {
		reason, _ := rig.Dig(l, "reason").(string)
		if reason == "" || !strings.Contains(page, html.EscapeString(reason)) {
			t.Errorf("%v", l)
		}
	}
	if len(losses) == 0 {
		t.Errorf("no unsupported field: %s", v)
	}
}

// TestExportsContainNoCredentials covers credentials that a client passes to its agent, and credentials in the agent's
// responses.
func TestExportsContainNoCredentials(t *testing.T) {
	t.Parallel()
	const said = `{"openai_api_key":"canary-key","args":"{\"password\":\"canary-word\"}","link":"http://h/?a=1&token=canary-link",` +
		`"deep":"{\"args\":\"{\\\"private_key\\\":\\\"-----BEGIN\\\\ncanary-pem\\\"}\"}","api\u005fkey":"canary-escaped","access_token":["canary-list",{"a":"canary-object"}],` +
		`"db":"postgres://u:p@ss-canary@h/x","note":"sk-proj-abcdEFGH0123456789canary"}`
	for kind, agent := range map[string]http.Handler{"taskstep": legacyagent.Handler(), "threadrun": threadagent.Handler()} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := rig.Configured(t, "inspector: {capture: all}"+rig.OneAgent, map[string]http.Handler{"a": agent})
			quoted := strconv.Quote(said)
			b.Do("POST", "/runs/wait", `{"assistant_id":"a","input":{"messages":[{"role":"user","content":`+quoted+`}]},"config":{"configurable":`+said+`}}`).OK()
			at := "/inspect/runs/" + newestRun(b)
			for _, form := range []string{"har", "ndjson"} {
				text := string(b.Get(at + "/export/" + form).OK().Body)
				if strings.Contains(text, "canary") || !strings.Contains(text, "[hidden]") {
					t.Errorf("%s: %.3000s", form, text)
				}
			}
		})
	}
}
