package threadrun

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

func (s *langGraph) makeThread(t *check.Talk) check.Answer { return makeThread(t, s.key, lgThread) }

// aThread returns the path of a thread.
func (s *langGraph) aThread(t *check.Talk) string {
	return "/threads/" + s.thread.Need(t, "thread", s.makeThread).In(t).Text("thread_id")
}

func (s *langGraph) threadChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.threads.create", Level: check.Must, Says: "A thread can be created.", Cites: langGraphDoc.At("ThreadsClient.create; type Thread"),
			Run: func(t *check.Talk) { s.thread.Own(t, s.makeThread) }},
		{ID: "langgraph.threads.create.again", Level: check.Must, Says: "A thread can be created with an id chosen by the client, and if_exists do_nothing returns the existing thread.", Cites: langGraphDoc.At("ThreadsClient.create, threadId and ifExists"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				id := uuid.NewString()
				for range 2 {
					a := t.Post("/threads", map[string]any{"thread_id": id, "if_exists": "do_nothing"}).Is(http.StatusOK)
					if a.Text("thread_id") != id {
						t.Fail("the thread_id is %q, not %q", a.Text("thread_id"), id)
					}
				}
				removeThread(t, id)
			}},
		{ID: "langgraph.threads.get", Level: check.Must, Says: "A thread can be fetched by its id and keeps its metadata.", Cites: langGraphDoc.At("ThreadsClient.get; type Thread"),
			Run: func(t *check.Talk) {
				a := t.Get(s.aThread(t)).Is(http.StatusOK).Fits(lgThread)
				if a.Text("metadata.checked") != s.key {
					t.Fail("its metadata differs from the metadata it was created with")
				}
			}},
		{ID: "langgraph.threads.get.unknown", Level: check.Should, Says: "Fetching an unknown thread is refused.", Cites: langGraphDoc.At("ThreadsClient.get"),
			Run: func(t *check.Talk) { s.aThread(t); t.Get("/threads/" + uuid.NewString()).Refused() }},
		{ID: "langgraph.threads.search", Level: check.Must, Says: "Threads can be searched by metadata.", Cites: langGraphDoc.At("ThreadsClient.search, metadata"),
			Run: func(t *check.Talk) {
				path := s.aThread(t)
				a := t.Post("/threads/search", map[string]any{"metadata": map[string]any{"checked": s.key}, "limit": 100}).Is(http.StatusOK).Fits(check.List(lgThread))
				if !t.Over() && !check.Holds(a.List(""), "thread_id", path[len("/threads/"):]) {
					t.Fail("%d threads were found, but not the one with this metadata", len(a.List("")))
				}
			}},
		{ID: "langgraph.threads.count", Level: check.Must, Says: "Threads can be counted.", Cites: langGraphDoc.At("ThreadsClient.count"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Post("/threads/count", map[string]any{"metadata": map[string]any{"checked": s.key}}).Is(http.StatusOK).Fits(check.Integer)
			}},
		{ID: "langgraph.threads.update", Level: check.Must, Says: "Updating a thread merges the metadata.", Cites: langGraphDoc.At("ThreadsClient.update, metadata"),
			Run: func(t *check.Talk) {
				path := s.aThread(t)
				t.Put(http.MethodPatch, path, map[string]any{"metadata": map[string]any{"more": "yes"}}).Is(http.StatusOK)
				if a := t.Get(path).Is(http.StatusOK); a.Text("metadata.more") != "yes" || a.Text("metadata.checked") != s.key {
					t.Fail("the metadata is not the old and the new metadata combined")
				}
			}},
		{ID: "langgraph.threads.delete", Level: check.Must, Says: "A deleted thread can no longer be fetched.", Cites: langGraphDoc.At("ThreadsClient.delete"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				path := "/threads/" + s.makeThread(t).ID("thread_id")
				t.Delete(path).Is(http.StatusOK, http.StatusNoContent)
				t.Get(path).Refused()
			}},
	}
}

func (s *langGraph) stateChecks() []check.Check {
	return []check.Check{
		{ID: "langgraph.threads.state", Level: check.Must, Says: "The state of a thread with a run can be fetched.", Cites: langGraphDoc.At("ThreadsClient.getState; type ThreadState"),
			Run: func(t *check.Talk) { t.Get(s.aRun(t).thread + "/state").Is(http.StatusOK).Fits(lgState) }},
		{ID: "langgraph.threads.state.checkpoint", Level: check.Must, Says: "A state can be fetched by its checkpoint.", Cites: langGraphDoc.At("ThreadsClient.getState, checkpoint"),
			Run: func(t *check.Talk) {
				thread := s.aRun(t).thread
				id := t.Get(thread + "/state").Is(http.StatusOK).ID("checkpoint.checkpoint_id")
				if a := t.Get(thread + "/state/" + id).Is(http.StatusOK).Fits(lgState); a.Text("checkpoint.checkpoint_id") != id {
					t.Fail("the checkpoint_id is %q, not %q", a.Text("checkpoint.checkpoint_id"), id)
				}
			}},
		{ID: "langgraph.threads.history", Level: check.Must, Says: "The history of a thread can be listed, newest first.", Cites: langGraphDoc.At("ThreadsClient.getHistory; type ThreadState"),
			Run: func(t *check.Talk) {
				thread := s.aRun(t).thread
				head := t.Get(thread + "/state").Is(http.StatusOK).Text("checkpoint.checkpoint_id")
				list := t.Post(thread+"/history", map[string]any{"limit": 10}).Is(http.StatusOK).Fits(check.List(lgState)).List("")
				if !t.Over() && (len(list) == 0 || check.At(list[0], "checkpoint.checkpoint_id") != head) {
					t.Fail("the first of %d states is not the thread's current state, %s", len(list), head)
				}
			}},
		{ID: "langgraph.threads.history.limit", Level: check.Must, Says: "A history has at most limit states.", Cites: langGraphDoc.At("ThreadsClient.getHistory, limit"),
			Run: func(t *check.Talk) {
				a := t.Post(s.aRun(t).thread+"/history", map[string]any{"limit": 1}).Is(http.StatusOK)
				if n := len(a.List("")); n != 1 && !t.Over() {
					t.Fail("limit 1: there are %d states", n)
				}
			}},
		{ID: "langgraph.threads.copy", Level: check.Must, Says: "Copying a thread creates a new one with the same state.", Cites: langGraphDoc.At("ThreadsClient.copy"),
			Run: func(t *check.Talk) {
				thread := s.aRun(t).thread
				made := t.Send(check.Request{Method: http.MethodPost, Path: thread + "/copy"}).Is(http.StatusOK).ID("thread_id")
				removeThread(t, made)
				if "/threads/"+made == thread {
					t.Fail("the copy has the id of the original")
				}
				t.Get("/threads/" + made + "/state").Is(http.StatusOK)
			}},
	}
}
