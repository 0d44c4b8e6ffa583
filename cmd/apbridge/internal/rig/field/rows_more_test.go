package field

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
)

// Folders of tests that cover fields.
const (
	fieldTests     = "cmd/apbridge/internal/rig/field"
	threadrunTests = "cmd/apbridge/internal/rig/threadrun"
)

// listed checks that the member has these values in the list returned for with, and other values in the list returned
// for without. Names in braces are replaced by ids.
func (w *fixture) listed(without, with, member string, want ...string) row {
	return row{func(t *testing.T, op string, _ field) {
		values := func(request string) string {
			var got []string
			for _, one := range w.send(t, op, request).OK().List("") {
				got = append(got, rig.TextOf(rig.Dig(one, member)))
			}
			return strings.Join(got, " ")
		}
		expected := fill(w.ids, strings.Join(want, " "))
		if got := values(with); got != expected {
			t.Errorf("the list has %s, want %s", got, expected)
		}
		if got := values(without); got == expected {
			t.Errorf("without the field the result is the same: %s", got)
		}
	}}
}

// counted checks that the response to with is this number, and the response to an empty object another.
func (w *fixture) counted(with, want string) row {
	return row{func(t *testing.T, op string, _ field) {
		if got := string(w.send(t, op, with).OK().Body); got != want {
			t.Errorf("with the field: %s, want %s", got, want)
		}
		if got := string(w.send(t, op, `{}`).OK().Body); got == want {
			t.Errorf("without the field the result is the same: %s", got)
		}
	}}
}

// createProbes creates the objects that the rows search for, two of each kind.
func (w *fixture) createProbes() {
	for _, name := range []string{"one", "two"} {
		th := w.Post("/threads", `{"metadata":{"probe":"`+name+`"},"supersteps":[{"updates":[{"values":{"colour":"`+name+`"}}]},{"updates":[{"values":{"size":7}}]}]}`).OK()
		w.ids["thread "+name] = th.Text("thread_id")
		at := "/threads/" + th.Text("thread_id")
		history := w.Get(at + "/history").OK().List("")
		w.ids["first "+name] = rig.TextOf(rig.Dig(history[1], "checkpoint.checkpoint_id"))
		w.ids["last "+name] = rig.TextOf(rig.Dig(history[0], "checkpoint.checkpoint_id"))
		as := w.Post("/assistants", `{"graph_id":"graph","name":"Probe `+name+`","metadata":{"probe":"`+name+`"}}`).OK()
		w.ids["assistant "+name] = as.Text("assistant_id")
		w.Do("PATCH", "/assistants/"+as.Text("assistant_id"), `{"metadata":{"second":"yes"}}`).OK()
		w.Do("PUT", "/store/items", `{"namespace":["probe","`+name+`"],"key":"`+name+`","value":{"word":"`+name+`"}}`).OK()
		run := w.Post(at+"/runs/wait", `{"assistant_id":"graph","input":"hi","metadata":{"which":"`+name+`"}}`).OK()
		w.ids["run "+name] = strings.TrimPrefix(run.Header.Get("Content-Location"), at+"/runs/")
		cron := w.Post(at+"/runs/crons", `{"assistant_id":"graph","schedule":"0 0 1 1 *","metadata":{"probe":"`+name+`"},"enabled":`+map[string]string{"one": "true", "two": "false"}[name]+`}`).OK()
		w.ids["cron "+name] = cron.Text("cron_id")
	}
	w.Post("/threads/"+w.ids["thread one"]+"/runs/wait", `{"assistant_id":"agent","input":"hi","interrupt_after":"*"}`).OK()
}

const both = `"ids":["{thread one}","{thread two}"]`

func (w *fixture) threadRows() map[string]row {
	threadID := mapping.NewID()
	return map[string]row{
		"POST /threads thread_id":               w.differs(`{}`, `{"thread_id":"`+threadID+`"}`, threadID),
		"POST /threads metadata":                w.differs(`{}`, `{"metadata":{"m":"magic"}}`, "magic"),
		"POST /threads if_exists":               w.differs(`{"thread_id":"{thread_id}"}`, `{"thread_id":"{thread_id}","if_exists":"do_nothing"}`, "200 "),
		"POST /threads supersteps":              w.differs(`{}`, `{"supersteps":[{"updates":[{"values":{"k":"magic"},"as_node":"x"}]}]}`, "magic"),
		"POST /threads ttl":                     w.expires(`{}`, `{"ttl":{"ttl":5,"strategy":"delete"}}`),
		"GET /threads limit":                    w.differs("?limit=1000", "?limit=1", "!{thread one}"),
		"GET /threads offset":                   w.differs("", "?offset=1000", "!thread_id"),
		"POST /threads/search metadata":         w.listed(`{`+both+`}`, `{`+both+`,"metadata":{"probe":"two"}}`, "thread_id", "{thread two}"),
		"POST /threads/search values":           {w.checkSearchByValues},
		"POST /threads/search ids":              w.listed(`{}`, `{"ids":["{thread one}"]}`, "thread_id", "{thread one}"),
		"POST /threads/search limit":            w.listed(`{`+both+`}`, `{`+both+`,"limit":1}`, "thread_id", "{thread two}"),
		"POST /threads/search offset":           w.listed(`{`+both+`}`, `{`+both+`,"offset":1}`, "thread_id", "{thread one}"),
		"POST /threads/search status":           w.listed(`{`+both+`}`, `{`+both+`,"status":"interrupted"}`, "thread_id", "{thread one}"),
		"POST /threads/search sort_by":          w.listed(`{`+both+`}`, `{`+both+`,"sort_by":"updated_at"}`, "thread_id", "{thread one}", "{thread two}"),
		"POST /threads/search sort_order":       w.listed(`{`+both+`}`, `{`+both+`,"sort_order":"asc"}`, "thread_id", "{thread one}", "{thread two}"),
		"POST /threads/search select":           w.differs(`{`+both+`}`, `{`+both+`,"select":["thread_id"]}`, "!created_at"),
		"POST /threads/search extract":          w.differs(`{`+both+`}`, `{`+both+`,"extract":{"w":"metadata.probe"}}`, `"extracted":{"w":"two"}`),
		"POST /threads/count metadata":          w.counted(`{"metadata":{"probe":"two"}}`, "1"),
		"POST /threads/count values":            {w.checkSearchByValues},
		"POST /threads/count status":            w.counted(`{"status":"interrupted","metadata":{"probe":"one"}}`, "1"),
		"POST /threads/prune strategy":          {w.checkPruneToLatest},
		"GET /threads/{thread_id} include":      proven(fieldTests, "TestTimeToLiveIsIncludedOnRequest"),
		"PATCH /threads/{thread_id} ttl":        w.expires(`{"ttl":null}`, `{"ttl":{"ttl":500000}}`),
		"PATCH /threads/{thread_id} values":     w.differs(`{}`, `{"values":{"k":"patched state"}}`, "patched state"),
		"PATCH /threads/{thread_id} metadata":   w.differs(`{}`, `{"metadata":{"m":"patched data"}}`, "patched data"),
		"PATCH /threads/{thread_id} messages":   w.differs(`{}`, `{"messages":[{"role":"user","content":"magic message"}]}`, "magic message"),
		"PATCH /threads/{thread_id} checkpoint": w.forks(`{"values":{"x":1}}`, `{"checkpoint":{"checkpoint_id":"{first}"}}`),
		"POST /threads/prune thread_ids": {func(t *testing.T, op string, _ field) {
			id := w.Post("/threads", `{}`).OK().Text("thread_id")
			if got := w.send(t, op, `{"thread_ids":["`+id+`","`+rig.NoneID+`"]}`).OK(); got.At("pruned_count") != 1.0 {
				t.Errorf("%s", got.Body)
			}
			w.Get("/threads/" + id).Is(404)
		}},
	}
}

// checkPruneToLatest checks that the thread, its newest state and its runs are kept, and that earlier states are
// removed. A thread with an active run is left unchanged.
func (w *fixture) checkPruneToLatest(t *testing.T, op string, _ field) {
	made := w.Post("/threads", `{"metadata":{"graph_id":"agent"},"supersteps":[{"updates":[{"values":{"k":1}}]}]}`).OK().Text("thread_id")
	at := "/threads/" + made
	w.Post(at+"/runs/wait", `{"assistant_id":"agent","input":"hi"}`).OK()
	busy := w.busyThread()
	before := w.Get(at + "/history").OK().List("")
	oldest := at + "/state/" + rig.TextOf(rig.Dig(before[len(before)-1], "checkpoint.checkpoint_id"))
	w.Get(oldest).OK()
	for _, pruned := range []float64{1, 0} { // the second time there is nothing to prune
		got := w.send(t, op, `{"strategy":"keep_latest","thread_ids":["`+made+`","`+rig.NoneID+`","`+strings.TrimPrefix(busy, "/threads/")+`"]}`).OK()
		if got.At("pruned_count") != pruned {
			t.Errorf("pruned %s, want %v", got.Body, pruned)
		}
	}
	after := w.Get(at + "/history").OK().List("")
	if len(before) < 3 || len(after) != 1 || rig.Dig(after[0], "checkpoint.checkpoint_id") != rig.Dig(before[0], "checkpoint.checkpoint_id") || rig.Dig(after[0], "values.k") != 1.0 {
		t.Errorf("history after pruning: %v\nbefore: %v", after, before)
	}
	w.Get(oldest).Is(404)
	if runs := w.Get(at + "/runs").OK().List(""); len(runs) != 1 {
		t.Errorf("%v", runs)
	}
	w.Post(at+"/runs/wait", `{"assistant_id":"agent","input":"again"}`).OK()
	if got := w.Get(at + "/state").OK(); got.At("values.k") != 1.0 || !strings.Contains(string(got.Body), "again") {
		t.Errorf("%s", got.Body)
	}
}

func (w *fixture) stateRows() map[string]row {
	const state, at, post, update = "GET /threads/{thread_id}/state ", "GET /threads/{thread_id}/state/{checkpoint_id} ", "POST /threads/{thread_id}/state/checkpoint ", "POST /threads/{thread_id}/state "
	const get, list = "GET /threads/{thread_id}/history ", "POST /threads/{thread_id}/history "
	noSubgraphs := "the bridge's states contain no subgraphs"
	onOne := func(op string, request func(op string) row) row {
		return row{func(t *testing.T, _ string, f field) {
			request(op).check(t, strings.ReplaceAll(op, "{thread_id}", "{thread one}"), f)
		}}
	}
	return map[string]row{
		state + "subgraphs": w.hint("true", noSubgraphs), at + "subgraphs": w.hint("true", noSubgraphs), post + "subgraphs": w.hint("true", noSubgraphs),
		state + "select": w.differs("", "?select=next", "!checkpoint_id"),
		post + "checkpoint": onOne("POST /threads/{thread_id}/state/checkpoint", func(string) row {
			return w.differs(`{"checkpoint":{"checkpoint_id":"{last one}"}}`, `{"checkpoint":{"checkpoint_id":"{first one}"}}`, `!"size"`)
		}),
		update + "values":        w.differs(`{}`, `{"values":3}`, "422 "),
		update + "checkpoint_id": w.forks(`{"values":{"x":1}}`, `{"checkpoint_id":"{first}"}`),
		update + "checkpoint":    w.forks(`{"values":{"x":1}}`, `{"checkpoint":{"checkpoint_id":"{first}"}}`),
		update + "as_node": {func(t *testing.T, op string, _ field) {
			for _, c := range []struct {
				more string
				want any
			}{{``, nil}, {`,"as_node":"magic"`, "magic"}} {
				w.send(t, op, `{"values":{"k":1}`+c.more+`}`).OK()
				if got := w.Get(fill(w.ids, "/threads/{thread_id}/state")).OK(); got.At("metadata.as_node") != c.want || got.At("values.k") != 1.0 {
					t.Errorf("%s", got.Body)
				}
			}
		}},
		get + "limit":  w.limited("", "?limit=1"),
		get + "before": onOne(get[:len(get)-1], func(string) row { return w.listed("", "?before={last one}", "checkpoint.checkpoint_id", "{first one}") }),
		list + "limit": w.limited(`{}`, `{"limit":1}`),
		list + "before": onOne(list[:len(list)-1], func(string) row {
			return w.listed(`{}`, `{"before":{"configurable":{"checkpoint_id":"{last one}"}}}`, "checkpoint.checkpoint_id", "{first one}")
		}),
		list + "checkpoint": onOne(list[:len(list)-1], func(string) row {
			return w.listed(`{}`, `{"checkpoint":{"checkpoint_id":"{first one}"}}`, "checkpoint.checkpoint_id", "{first one}")
		}),
		list + "metadata": onOne(list[:len(list)-1], func(string) row {
			return w.listed(`{}`, `{"metadata":{"source":"update"}}`, "checkpoint.checkpoint_id", "{last one}", "{first one}")
		}),
		"GET /threads/{thread_id}/stream stream_mode": proven("cmd/apbridge", "TestThreadIsFollowedAcrossRuns"),
	}
}

func (w *fixture) otherRows() map[string]row {
	const runs, find, cancel, crons, item = "GET /threads/{thread_id}/runs ", "POST /runs/search ", "POST /runs/cancel ", "POST /runs/crons/search ", "PUT /store/items "
	const items, spaces, search, create, patch = "POST /store/items/search ", "POST /store/namespaces ", "POST /assistants/search ", "POST /assistants ", "PATCH /assistants/{assistant_id} "
	const probed = `"metadata":{"second":"yes"},"sort_by":"name"`
	rows := map[string]row{
		"ANY checkpoint_id": proven(threadrunTests, "TestJoinAfterACheckpoint"), "ANY check_db": proven("adapter/threadrun/face", "TestOKNamesWhatIsAway"),
		"GET /threads/{thread_id}/state/{checkpoint_id} select": proven(fieldTests, "TestSelectOneKeyOfAState"), "POST /threads/{thread_id}/state/checkpoint select": proven(fieldTests, "TestSelectOneKeyOfAState"),
		"GET /threads/{thread_id}/history select": proven(fieldTests, "TestSelectOneKeyOfAState"), "POST /threads/{thread_id}/history select": proven(fieldTests, "TestSelectOneKeyOfAState"),
		"ANY cancel_on_disconnect": proven("cmd/apbridge", "TestReaderThatDisconnects"),
		runs + "limit":             w.limited("", "?limit=1"), runs + "offset": w.differs("", "?offset=1000", "!run_id"),
		"GET /assistants limit": w.differs("", "?limit=1", "!{assistant one}"), "GET /assistants offset": w.differs("", "?offset=1000", "!assistant_id"),
		runs + "status": w.differs("", "?status=error", "!run_id"), runs + "select": w.differs("", "?select=run_id", "!thread_id"),
		find + "metadata":  w.listed(`{}`, `{"metadata":{"which":"two"}}`, "run_id", "{run two}"),
		find + "thread_id": w.listed(`{}`, `{"thread_id":"{thread two}"}`, "run_id", "{run two}"),
		find + "agent_id":  w.listed(`{"metadata":{"probe":"one"}}`, `{"metadata":{"probe":"one"},"agent_id":"graph"}`, "run_id", "{run one}"),
		find + "status":    w.listed(`{"metadata":{"probe":"one"}}`, `{"metadata":{"probe":"one"},"status":"success"}`, "run_id", "{run one}"),
		find + "limit":     w.limited(`{"metadata":{"probe":"one"}}`, `{"metadata":{"probe":"one"},"limit":1}`),
		find + "offset":    w.listed(`{"metadata":{"which":"two"}}`, `{"metadata":{"which":"two"},"offset":1}`, "run_id"),
		"POST /threads/{thread_id}/runs/{run_id}/stream last_event_id": w.differs(`{}`, `{"last_event_id":"-1"}`, "event: values"),
		"POST /threads/{thread_id}/runs/{run_id}/stream stream_mode":   w.differs(`{"last_event_id":"-1"}`, `{"last_event_id":"-1","stream_mode":"updates"}`, "event: updates"),
		"GET /threads/{thread_id}/runs/{run_id}/stream stream_mode":    {w.checkStreamModes},
		"GET /runs/{run_id}/stream stream_mode":                        {w.checkStreamModes},
		"CANCEL reason":                                                proven(threadrunTests, "TestRunHasTheReasonOfItsCancellation"),
		"POST /threads/{thread_id}/runs/{run_id}/cancel wait":          proven("cmd/apbridge", "TestCancelWaitsForTheEnd"),
		"POST /runs/{run_id}/cancel wait":                              proven("cmd/apbridge", "TestCancelWaitsForTheEnd"),
		"CANCEL action":                                                {w.checkCancelAction},
		cancel + "status":                                              {w.checkBulkCancel(`{"status":"pending"}`)}, cancel + "thread_id": {w.checkBulkCancel(`{"thread_id":"{t}","status":"all"}`)},
		cancel + "run_ids":                    {w.checkBulkCancel(`{"thread_id":"{t}","run_ids":["{R}"]}`)},
		"POST /runs/crons/count assistant_id": w.counted(`{"assistant_id":"agent","metadata":{"probe":"one"}}`, "0"), "POST /runs/crons/count thread_id": w.counted(`{"thread_id":"{thread one}"}`, "1"),
		"POST /runs/crons/count metadata": w.counted(`{"metadata":{"probe":"one"}}`, "1"),
		crons + "assistant_id":            w.listed(`{"thread_id":"{thread two}"}`, `{"thread_id":"{thread two}","assistant_id":"agent"}`, "cron_id"),
		crons + "thread_id":               w.listed(`{}`, `{"thread_id":"{thread two}"}`, "cron_id", "{cron two}"), crons + "metadata": w.listed(`{}`, `{"metadata":{"probe":"two"}}`, "cron_id", "{cron two}"),
		crons + "enabled": w.listed(`{"thread_id":"{thread two}"}`, `{"enabled":true,"thread_id":"{thread two}"}`, "cron_id"),
		crons + "limit":   w.differs(`{"limit":1000}`, `{"limit":1}`, "!{cron one}"), crons + "offset": w.listed(`{"thread_id":"{thread two}"}`, `{"thread_id":"{thread two}","offset":1}`, "cron_id"),
		crons + "sort_by":    w.listed(`{"assistant_id":"graph","limit":2,"sort_order":"asc","sort_by":"next_run_date"}`, `{"assistant_id":"graph","limit":2,"sort_order":"asc","sort_by":"created_at"}`, "cron_id", "{cron one}", "{cron two}"),
		crons + "sort_order": w.listed(`{"assistant_id":"graph","limit":1}`, `{"assistant_id":"graph","limit":1,"sort_order":"asc"}`, "cron_id", "{cron one}"),
		crons + "select":     w.differs(`{}`, `{"select":["cron_id"]}`, "!payload"),
		create + "graph_id":  w.differs(`{"graph_id":"agent"}`, `{"graph_id":"graph"}`, `"graph_id":"graph"`), create + "config": w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","config":{"tags":["magic"]}}`, "magic"),
		create + "context": w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","context":{"c":"magic"}}`, "magic"), create + "metadata": w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","metadata":{"c":"magic"}}`, "magic"),
		create + "assistant_id": w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","if_exists":"do_nothing","assistant_id":"`+rig.NoneID+`"}`, rig.NoneID),
		create + "if_exists":    w.differs(`{"graph_id":"agent","assistant_id":"{assistant one}"}`, `{"graph_id":"agent","assistant_id":"{assistant one}","if_exists":"do_nothing"}`, "200 "),
		create + "name":         w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","name":"magic"}`, "magic"), create + "description": w.differs(`{"graph_id":"agent"}`, `{"graph_id":"agent","description":"magic"}`, "magic"),
		patch + "graph_id": w.differs(`{}`, `{"graph_id":"graph"}`, `"graph_id":"graph"`), patch + "config": w.differs(`{}`, `{"config":{"tags":["tag one"]}}`, "tag one"), patch + "context": w.differs(`{}`, `{"context":{"c":"context two"}}`, "context two"),
		patch + "metadata": w.differs(`{}`, `{"metadata":{"c":"metadata three"}}`, "metadata three"), patch + "name": w.differs(`{}`, `{"name":"four it"}`, "four it"), patch + "description": w.differs(`{}`, `{"description":"five it"}`, "five it"),
		"DELETE /assistants/{assistant_id} delete_threads": proven("cmd/apbridge", "TestAssistantIsDeletedWithItsThreads"),
		"GET /assistants/{assistant_id}/graph xray":        proven("cmd/apbridge", "TestAgentDescriptionIsCached"), "ANY recurse": proven("cmd/apbridge", "TestAgentDescriptionIsCached"),
		"POST /assistants/{assistant_id}/latest version": {w.checkSetLatest},
		search + "limit": w.listed(`{`+probed+`}`, `{`+probed+`,"limit":1}`, "assistant_id", "{assistant two}"), search + "offset": w.listed(`{`+probed+`}`, `{`+probed+`,"offset":1}`, "assistant_id", "{assistant one}"),
		search + "sort_by": proven("cmd/apbridge", "TestAssistantsAreSearched"), search + "sort_order": w.listed(`{`+probed+`}`, `{`+probed+`,"sort_order":"asc"}`, "assistant_id", "{assistant one}", "{assistant two}"),
		search + "select":   w.differs(`{}`, `{"select":["name"]}`, "!graph_id"),
		search + "metadata": w.listed(`{}`, `{"metadata":{"probe":"two"}}`, "assistant_id", "{assistant two}"), search + "graph_id": w.differs(`{"limit":1000}`, `{"limit":1000,"graph_id":"graph"}`, `!"graph_id":"agent"`), search + "name": w.listed(`{}`, `{"name":"probe TWO"}`, "assistant_id", "{assistant two}"),
		"POST /assistants/count metadata": w.counted(`{"metadata":{"probe":"two"}}`, "1"), "POST /assistants/count graph_id": w.counted(`{"graph_id":"nobody"}`, "0"), "POST /assistants/count name": w.counted(`{"name":"probe TWO"}`, "1"),
		"POST /agents/search name": w.differs(`{"limit":1000}`, `{"name":"Probe two"}`, "!Probe one"), "POST /agents/search metadata": w.differs(`{"limit":1000}`, `{"metadata":{"probe":"two"}}`, "!Probe one"),
		"POST /agents/search limit": w.limited(`{"metadata":{"second":"yes"}}`, `{"metadata":{"second":"yes"},"limit":1}`), "POST /agents/search offset": w.differs(`{"metadata":{"probe":"two"}}`, `{"metadata":{"probe":"two"},"offset":1}`, "!Probe two"),
		item + "namespace": w.differs(`{"namespace":["a.b"],"key":"k","value":{}}`, `{"namespace":["a","b"],"key":"k","value":{}}`, "204"),
		item + "key":       {w.checkItem}, item + "value": {w.checkItem}, item + "index": proven("cmd/apbridge", "TestStoreSearchByText"),
		item + "ttl":      {w.checkItemExpiry},
		"GET /data owner": proven("cmd/apbridge/internal/rig/operate", "TestOwnersDataIsRemoved"), "GET /data tenant": w.differs("?owner=x", "?owner=x&tenant=other", "403 {"),
		"GET /data/export owner": proven("cmd/apbridge/internal/rig/operate", "TestOwnersDataIsRemoved"), "GET /data/export tenant": w.differs("?owner=x", "?owner=x&tenant=other", "403 {"),
		"DELETE /data owner": proven("cmd/apbridge/internal/rig/operate", "TestOwnersDataIsRemoved"), "DELETE /data tenant": w.differs("?owner=x", "?owner=x&tenant=other", "403 {"),
		"DELETE /data leave_copies": proven("cmd/apbridge/internal/rig/operate", "TestRemovalWithoutTheAgent"), "DELETE /data keep_file": w.differs("?owner=x", "?owner=x&keep_file=true", "as requested"),
		"GET /store/items namespace": w.differs("?namespace=n&key=two", "?namespace=probe&namespace=two&key=two", `"word":"two"`), "GET /store/items key": w.differs("?namespace=probe.two&key=x", "?namespace=probe.two&key=two", `"word":"two"`),
		"ANY refresh_ttl": proven("adapter/threadrun", "TestQueriesReachTheService", "proxy/service", "TestItemsExpireOnTime"), "DELETE /store/items key": {w.checkItem}, "DELETE /store/items namespace": {w.checkItem},
		items + "namespace_prefix": w.differs(`{"namespace_prefix":["probe"]}`, `{"namespace_prefix":["probe","two"]}`, `!"word":"one"`), items + "filter": w.differs(`{"namespace_prefix":["probe"]}`, `{"filter":{"word":"two"}}`, `!"word":"one"`),
		items + "limit": w.differs(`{"namespace_prefix":["probe"]}`, `{"namespace_prefix":["probe"],"limit":1}`, `!"word":"one"`), items + "offset": w.differs(`{"namespace_prefix":["probe"]}`, `{"namespace_prefix":["probe"],"offset":2}`, `!"word"`),
		items + "query":      w.differs(`{"namespace_prefix":["probe"]}`, `{"namespace_prefix":["probe"],"query":"two"}`, `!"word":"one"`),
		items + "sort_by":    w.differs(`{"namespace_prefix":["probe"],"query":"one two","limit":1}`, `{"namespace_prefix":["probe"],"query":"one two","limit":1,"sort_by":"created_at"}`, `"word":"two"`),
		items + "search_by":  proven("cmd/apbridge", "TestStoreSearchByMeaningOrWords"),
		items + "sort_order": w.differs(`{"namespace_prefix":["probe"],"limit":1,"sort_by":"created_at"}`, `{"namespace_prefix":["probe"],"limit":1,"sort_by":"created_at","sort_order":"asc"}`, `"word":"one"`),
		spaces + "prefix":    w.differs(`{}`, `{"prefix":["probe"]}`, `!["n"]`), spaces + "suffix": w.differs(`{}`, `{"suffix":["two"]}`, `!["n"]`), spaces + "max_depth": w.differs(`{}`, `{"max_depth":1}`, `!"two"`),
		spaces + "limit": w.differs(`{"prefix":["probe"]}`, `{"prefix":["probe"],"limit":1}`, `!"two"`), spaces + "offset": w.differs(`{"prefix":["probe"]}`, `{"prefix":["probe"],"offset":2}`, `!"two"`),
		"POST /assistants/{assistant_id}/versions metadata": w.differs(`{}`, `{"metadata":{"no":"such"}}`, "!assistant_id"), "POST /assistants/{assistant_id}/versions limit": w.limited(`{}`, `{"limit":1}`), "POST /assistants/{assistant_id}/versions offset": w.differs(`{}`, `{"offset":1000}`, "!assistant_id"),
	}
	return rows
}

// checkCancelAction checks that an interrupted run is kept and a rolled back run is removed.
func (w *fixture) checkCancelAction(t *testing.T, op string, f field) {
	for action, status := range map[string]int{"interrupt": 200, "rollback": 404} {
		th := w.busyThread()
		run := rig.TextOf(rig.Dig(w.Get(th + "/runs").OK().List("")[0], "run_id"))
		path := fill(map[string]string{"thread_id": strings.TrimPrefix(th, "/threads/"), "run_id": run}, op)
		method, path := split(path)
		body := ""
		if op == "POST /runs/cancel" {
			body = `{"thread_id":"` + strings.TrimPrefix(th, "/threads/") + `","run_ids":["` + run + `"]}`
		}
		w.Do(method, path+"?action="+action+"&wait=true", body).OK()
		rig.Eventually(t, "the run ends after "+action, func() bool { return w.Get(th+"/runs/"+run).Status == status })
		if status == 200 {
			rig.Eventually(t, "the run is interrupted", func() bool { return w.Get(th+"/runs/"+run).Text("status") == "interrupted" })
		}
	}
}

// checkBulkCancel checks that the request cancels a pending run.
func (w *fixture) checkBulkCancel(body string) func(*testing.T, string, field) {
	return func(t *testing.T, op string, _ field) {
		th := w.busyThread()
		run := rig.TextOf(rig.Dig(w.Get(th + "/runs").OK().List("")[0], "run_id"))
		method, path := split(op)
		w.Do(method, path, strings.NewReplacer("{t}", strings.TrimPrefix(th, "/threads/"), "{r}", run, "{R}", strings.ToUpper(run)).Replace(body)).OK()
		rig.Eventually(t, "the run is interrupted", func() bool { return w.Get(th+"/runs/"+run).Text("status") == "interrupted" })
	}
}

// checkItemExpiry checks that an item with a time to live is removed, and one without is kept.
func (w *fixture) checkItemExpiry(t *testing.T, op string, _ field) {
	for _, c := range []struct{ key, more string }{{"kept", ``}, {"expiring", `,"ttl":0.0001`}} {
		w.send(t, op, `{"namespace":["times"],"key":"`+c.key+`","value":{}`+c.more+`}`).Is(204)
	}
	rig.Eventually(t, "the item expires", func() bool { return string(w.Get("/store/items?namespace=times&key=expiring").OK().Body) == "null" })
	w.Get("/store/items?namespace=times&key=kept").OK()
}
