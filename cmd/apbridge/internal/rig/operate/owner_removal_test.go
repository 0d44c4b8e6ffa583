package operate

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestRemovalReachesOnesTenantAlone checks that a key limited to a part of a tenant, and one of another tenant, are
// refused, but not one without a tenant that has the right by name.
func TestRemovalReachesOnesTenantAlone(t *testing.T) {
	t.Parallel()
	p := newPersonal(t, asking(), chats())
	at := chatter(p, keyOfAlice, mark)
	for _, path := range []string{"/data?owner=alice", "/data/export?owner=alice"} {
		p.as(keyOfOwn, "GET", path, "").Want(t, 403, "owner_out_of_reach")
		p.as(keyOfOps, "GET", path+"&tenant=other", "").Want(t, 403, "owner_out_of_reach")
	}
	p.as(keyOfOwn, "DELETE", "/data?owner=alice", "").Want(t, 403, "owner_out_of_reach")
	p.as(keyOfOps, "DELETE", "/data?owner=alice&tenant=", "").Want(t, 403, "owner_out_of_reach")
	p.as(keyOfOps, "DELETE", "/data", "").Want(t, 422, "owner is required")
	p.remove(keyOfRoot, "owner=alice") // of the tenant without a name
	p.as(keyOfAlice, "GET", at, "").Want(t, 200, mark)
	p.remove(keyOfRoot, "owner=alice&tenant=acme&keep_file=true")
	p.as(keyOfAlice, "GET", at, "").Want(t, 404)
}

// TestRemovalOfAGuest checks that runs on another owner's thread are removed and the thread is named.
func TestRemovalOfAGuest(t *testing.T) {
	t.Parallel()
	p := newPersonal(t, asking(), chats())
	at := chatter(p, keyOfBob, "bobsword")
	p.as(keyOfAlice, "POST", at+"/runs/wait", `{"assistant_id":"graph","input":{"messages":[{"role":"user","content":"`+mark+`"}]}}`).OK()
	p.as(keyOfOps, "GET", "/data?owner=alice", "").Want(t, 200, `"guest":["`+at[len("/threads/"):]+`"]`)
	list := p.remove(keyOfOps, "owner=alice")
	if !slices.ContainsFunc(list, func(b became) bool { return b.Outcome == "kept" && b.Kind == "thread" && b.ID == at[len("/threads/"):] }) {
		t.Errorf("the thread is not named: %+v", list)
	}
	if runs := p.as(keyOfBob, "GET", at+"/runs", "").Is(200).List(""); len(runs) != 1 {
		t.Errorf("%d runs are left", len(runs))
	}
	p.as(keyOfBob, "GET", at, "").Want(t, 200, "bobsword")
}

// TestRemovalGoesOn checks that a process that dies during a removal leaves the remaining data, with the agents'
// copies, that the same request continues, and that active runs end.
func TestRemovalGoesOn(t *testing.T) {
	t.Parallel()
	graph := chats()
	gate := rig.NewGate(graph, func(r *http.Request) bool { return r.Method == "DELETE" && r.Header.Get("X-User") == "alice" }, 2)
	p := newPersonal(t, asking(), gate)
	p.graph = graph
	for range 3 {
		chatter(p, keyOfAlice, mark)
	}
	graph.Play(adaptertest.HangPlay())
	hung := "/threads/" + p.as(keyOfAlice, "POST", "/threads", `{}`).OK().Text("thread_id")
	p.as(keyOfAlice, "POST", hung+"/runs", `{"assistant_id":"graph","input":{"messages":[]}}`).OK()
	rig.Eventually(t, "a run under way", func() bool { return graph.Threads() == 4 })
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = p.Try(t.Context(), "DELETE", "/data?owner=alice", "", "X-Api-Key", keyOfOps) // the connection breaks
	}()
	gate.Await(t)
	p.as(keyOfOps, "DELETE", "/data?owner=bob", "").Want(t, 409, "removal_running")
	p.Kill()
	<-gone
	gate.Open()
	again := &personal{Bridge: p.Again(), graph: graph, log: p.log, folder: p.folder}
	left := again.as(keyOfOps, "GET", "/data?owner=alice", "").Is(200)
	if !rig.Says(left.String(), `"kind":"threads","count":3`) {
		t.Errorf("after the first: %s", left)
	}
	list := again.remove(keyOfOps, "owner=alice")
	if slices.ContainsFunc(list, func(b became) bool { return b.Outcome == "failed" }) || !list[len(list)-1].End {
		t.Errorf("the second: %+v", list)
	}
	if n := graph.Threads(); n != 0 {
		t.Errorf("the graph has %d threads", n)
	}
	if files := again.found(); files != nil {
		t.Errorf("the mark is still in %v", files)
	}
}

// TestRemovalTakesWhatIsMadeMeanwhile checks that objects which the owner creates during the removal, in parts that are
// already done, are removed by the next pass.
func TestRemovalTakesWhatIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate(chats(), func(r *http.Request) bool { return r.Method == "DELETE" }, 1)
	p := newPersonal(t, asking(), gate)
	chatter(p, keyOfAlice, mark)
	ended := make(chan error, 1)
	go func() {
		got, err := p.Try(t.Context(), "DELETE", "/data?owner=alice", "", "X-Api-Key", keyOfOps)
		if err == nil && !strings.HasSuffix(got.String(), "{\"end\":true}\n") {
			err = errors.New(got.String())
		}
		ended <- err
	}()
	gate.Await(t) // crons are done
	p.as(keyOfAlice, "POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":"`+mark+`"}`).OK()
	p.as(keyOfAlice, "POST", "/threads", `{"metadata":{"about":"`+mark+`"}}`).OK()
	gate.Open()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.as(keyOfOps, "GET", "/data?owner=alice", "").Want(t, 200, `"kinds":[]`)
	if files := p.found(); files != nil {
		t.Errorf("the mark is still in %v", files)
	}
}

// TestRemovalWithoutTheAgent checks that a thread whose agent does not answer stays, with the record of the copy, until
// the agent answers or the caller accepts that the copy stays.
func TestRemovalWithoutTheAgent(t *testing.T) {
	t.Parallel()
	graph := chats()
	p := newPersonal(t, asking(), graph)
	at := chatter(p, keyOfAlice, mark)
	graph.Canned = map[string]*adaptertest.Canned{"DELETE /threads/{t}": {Status: 503, Times: 1000}}
	list := p.remove(keyOfOps, "owner=alice")
	if words := summary(list); !slices.Contains(words, "failed thread") || !slices.Contains(words, "failed threads") {
		t.Errorf("without the agent: %+v", list)
	}
	p.as(keyOfAlice, "GET", at, "").Want(t, 200, mark)
	list = p.remove(keyOfOps, "owner=alice&leave_copies=true")
	if words := summary(list); !slices.Contains(words, "kept copy graph") || !slices.Contains(words, "removed thread") {
		t.Errorf("with copies left: %+v", list)
	}
	p.as(keyOfAlice, "GET", at, "").Want(t, 404)
	if files := p.found(); files != nil {
		t.Errorf("the mark is still in %v", files)
	}
}
