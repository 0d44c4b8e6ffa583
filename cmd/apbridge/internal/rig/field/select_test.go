package field

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// keysOf returns the sorted keys of an object.
func keysOf(v any) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(v.(map[string]any))))
}

// A client that shows one key of a state requests only that key (SDK 1.15, select).
func TestSelectOneKeyOfAState(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`).OK()
	b.Post(at+"/state", `{"values":{"title":"greeting","n":1}}`).OK()
	point := b.Get(at + "/state").OK().Text("checkpoint.checkpoint_id")
	const body = `"select":["values.title","next"]}`
	for name, state := range map[string]any{
		"head":            b.Get(at + "/state?select=values.title&select=next").OK().At(""),
		"a checkpoint":    b.Get(at + "/state/" + point + "?select=values.title,next").OK().At(""),
		"one in the body": b.Post(at+"/state/checkpoint", `{"checkpoint":{"checkpoint_id":"`+point+`"},`+body).OK().At(""),
		"history":         b.Post(at+"/history", `{"limit":1,`+body).OK().At("0"),
		"history by GET":  b.Get(at + "/history?limit=1&select=values.title&select=next").OK().At("0"),
		"a missing key":   b.Get(at + "/state?select=values.title&select=values.none&select=next").OK().At(""),
	} {
		if keysOf(state) != "[next values]" || keysOf(rig.Dig(state, "values")) != "[title]" {
			t.Errorf("%s: %v", name, state)
		}
	}
	if all := b.Get(at + "/state?select=values&select=values.title").OK().At("values"); keysOf(all) != "[files messages n title]" {
		t.Errorf("all values and one of them selected: %v", all)
	}
	b.Get(at+"/state?select=value").Want(t, 422, `unknown field \"value\"`)
	b.Get(at+"/state?select=values.").Want(t, 422, `unknown field \"values.\"`)
}

// TestTimeToLiveIsIncludedOnRequest checks that the time to live is only returned if it is requested, as by LangGraph
// Server.
func TestTimeToLiveIsIncludedOnRequest(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	made := b.Post("/threads", `{"ttl":{"ttl":90,"strategy":"keep_latest"}}`).OK()
	at := "/threads/" + made.Text("thread_id")
	got := b.Get(at + "?include=ttl").OK()
	if got.At("ttl.strategy") != "keep_latest" || got.At("ttl.ttl_minutes") != 90.0 || got.At("ttl.expires_at") == nil {
		t.Errorf("the thread's ttl is %v", got.At("ttl"))
	}
	patched := b.Do("PATCH", at, `{"ttl":30}`).OK()
	if got := b.Get(at + "?include=ttl").OK(); got.At("ttl.strategy") != "delete" || got.At("ttl.ttl_minutes") != 30.0 {
		t.Errorf("after the update the ttl is %v", got.At("ttl"))
	}
	if got := b.Post("/threads/search", `{"select":["ttl"],"extract":{"m":"ttl.ttl_minutes"}}`).OK(); got.At("0.ttl.ttl_minutes") != 30.0 || got.At("0.extracted.m") != 30.0 {
		t.Errorf("selected in a list: %s", got.Body)
	}
	for name, got := range map[string]rig.Answer{
		"created": made, "patched": patched, "read": b.Get(at).OK(), "listed": b.Post("/threads/search", `{}`).OK(),
		"copied": b.Post(at+"/copy", ``).OK(),
	} {
		if strings.Contains(string(got.Body), `"ttl"`) {
			t.Errorf("%s: the ttl was not requested: %s", name, got.Body)
		}
	}
	b.Get(at+"?include=ttl,storage").Want(t, 422, "include names the unknown part")
}

// TestStateUpdatedAt checks that state_updated_at is the time of the last change of the state, and that a change of the
// metadata does not change it.
func TestStateUpdatedAt(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	at := b.Thread()
	before := b.Get(at).OK()
	if before.Text("state_updated_at") != before.Text("created_at") || before.At("error") != nil {
		t.Errorf("a new thread: %s", before.Body)
	}
	point := b.Post(at+"/state", `{"values":{"title":"greeting"}}`).OK().Text("checkpoint.checkpoint_id")
	updated := b.Get(at).OK().Text("state_updated_at")
	b.Do("PATCH", at, `{"metadata":{"k":"v"}}`).OK()
	changed := b.Get(at + "/state/" + point).OK().Text("created_at")
	const body = `{"select":["thread_id","state_updated_at","error"]}`
	if got := b.Post("/threads/search", body).OK(); got.At("0.state_updated_at") != updated || updated < changed || keysOf(got.At("0")) != "[state_updated_at thread_id]" {
		t.Errorf("created at %s, updated at %s: %s", changed, updated, got.Body)
	}
	b.Post("/threads/search", `{"select":["context"]}`).Want(t, 422, `unknown field \"context\"`)
}

// TestThreadHasErrorOfItsLastRun checks that the error is returned with the thread, and in a list only if it is
// selected.
func TestThreadHasErrorOfItsLastRun(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, &adaptertest.ThreadAgent{Choose: func([]byte) adaptertest.ThreadPlay { return adaptertest.FailPlay() }}, rig.AsThreads)
	at := b.Thread()
	b.Post(at+"/runs/wait", `{"assistant_id":"agent",`+rig.SaysHi+`}`)
	why := b.Get(at + "/runs").OK().Text("0.error")
	if got := b.Get(at).OK(); why == "" || got.At("error") != why {
		t.Errorf("the run failed with %q, the thread has %v", why, got.At("error"))
	}
	got := b.Post("/threads/search", `{"select":["error"],"extract":{"why":"error"}}`).OK()
	if got.At("0.error") != why || got.At("0.extracted.why") != why {
		t.Errorf("selected in a list: %s", got.Body)
	}
	if got := b.Post("/threads/search", `{}`).OK(); got.At("0.error") != nil {
		t.Errorf("not selected: %s", got.Body)
	}
}
