package threadrun

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
	"github.com/google/uuid"
)

func (s *agentProtocol) makeThread(t *check.Talk) check.Answer { return makeThread(t, s.key, apThread) }

// makeThread creates a thread that is deleted at the end.
func makeThread(t *check.Talk, key string, shape check.Shape) check.Answer {
	a := t.Post("/threads", map[string]any{"metadata": map[string]any{"checked": key}}).Is(http.StatusOK).Fits(shape)
	removeThread(t, a.ID("thread_id"))
	return a
}

func removeThread(t *check.Talk, id string) {
	t.Remove("thread "+id, check.Request{Method: http.MethodDelete, Path: "/threads/" + id})
}

func (s *agentProtocol) aThread(t *check.Talk) string {
	return s.thread.Need(t, "thread", s.makeThread).In(t).Text("thread_id")
}

func (s *agentProtocol) threadChecks() []check.Check {
	return []check.Check{
		{ID: "agentprotocol.threads.create", Level: check.Must, Says: "Creating a thread returns a Thread.", Cites: agentProtocolDoc.At("create_thread, 200; schema Thread"),
			Run: func(t *check.Talk) { s.thread.Own(t, s.makeThread) }},
		{ID: "agentprotocol.threads.create.id", Level: check.Must, Says: "A thread can be created with an id chosen by the client.", Cites: agentProtocolDoc.At("schema ThreadCreate, thread_id"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				id := uuid.NewString()
				a := t.Post("/threads", map[string]any{"thread_id": id}).Is(http.StatusOK)
				removeThread(t, id)
				if got := a.Text("thread_id"); got != id {
					t.Fail("the thread_id is %q, not %q", got, id)
				}
			}},
		{ID: "agentprotocol.threads.create.conflict", Level: check.Must, Says: "Creating a thread that already exists returns 409.", Cites: agentProtocolDoc.At("create_thread, 409; schema ThreadCreate, if_exists, default raise"),
			Run: func(t *check.Talk) {
				t.Post("/threads", map[string]any{"thread_id": s.aThread(t)}).Is(http.StatusConflict).Fits(apError)
			}},
		{ID: "agentprotocol.threads.create.again", Level: check.Must, Says: "With if_exists do_nothing, the existing thread is returned.", Cites: agentProtocolDoc.At("schema ThreadCreate, if_exists"),
			Run: func(t *check.Talk) {
				id := s.aThread(t)
				a := t.Post("/threads", map[string]any{"thread_id": id, "if_exists": "do_nothing"}).Is(http.StatusOK)
				if a.Text("thread_id") != id {
					t.Fail("the thread_id is %q, not %q", a.Text("thread_id"), id)
				}
			}},
		{ID: "agentprotocol.threads.create.invalid", Level: check.Must, Says: "Creating a thread whose thread_id is a number returns 422.", Cites: agentProtocolDoc.At("create_thread, 422; schema ThreadCreate, thread_id"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Post("/threads", map[string]any{"thread_id": 5}).Is(http.StatusUnprocessableEntity).Fits(apError)
			}},
		{ID: "agentprotocol.threads.get", Level: check.Must, Says: "A thread can be fetched by its id and keeps its metadata.", Cites: agentProtocolDoc.At("get_thread, 200; schema Thread"),
			Run: func(t *check.Talk) {
				id := s.aThread(t)
				a := t.Get("/threads/" + id).Is(http.StatusOK).Fits(apThread)
				if a.Text("thread_id") != id || a.Text("metadata.checked") != s.key {
					t.Fail("its thread_id or metadata differs from the one it was created with")
				}
			}},
		{ID: "agentprotocol.threads.get.unknown", Level: check.Must, Says: "Fetching an unknown thread returns 404.", Cites: agentProtocolDoc.At("get_thread, 404; schema ErrorResponse"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Get("/threads/" + uuid.NewString()).Is(http.StatusNotFound).Fits(apError)
			}},
		{ID: "agentprotocol.threads.search", Level: check.Must, Says: "Threads can be searched by metadata.", Cites: agentProtocolDoc.At("search_threads, 200; schema ThreadSearchRequest, metadata"),
			Run: func(t *check.Talk) {
				id := s.aThread(t)
				a := t.Post("/threads/search", map[string]any{"metadata": map[string]any{"checked": s.key}}).Is(http.StatusOK).Fits(check.List(apThread))
				if list := a.List(""); !t.Over() && !check.Holds(list, "thread_id", id) {
					t.Fail("%d threads were found, but not the one with this metadata", len(list))
				}
			}},
		{ID: "agentprotocol.threads.search.other", Level: check.Must, Says: "A search by metadata leaves out threads with other metadata.", Cites: agentProtocolDoc.At("schema ThreadSearchRequest, metadata"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				a := t.Post("/threads/search", map[string]any{"metadata": map[string]any{"checked": uuid.NewString()}}).Is(http.StatusOK)
				if n := len(a.List("")); n > 0 {
					t.Fail("%d threads were found by metadata that no thread has", n)
				}
			}},
	}
}

func (s *agentProtocol) threadChangeChecks() []check.Check {
	return []check.Check{
		{ID: "agentprotocol.threads.patch", Level: check.Must, Says: "Patching a thread merges the metadata.", Cites: agentProtocolDoc.At("patch_thread, 200; schema ThreadPatch, metadata"),
			Run: func(t *check.Talk) {
				path := "/threads/" + s.aThread(t)
				t.Put(http.MethodPatch, path, map[string]any{"metadata": map[string]any{"more": "yes"}}).Is(http.StatusOK).Fits(apThread)
				a := t.Get(path).Is(http.StatusOK)
				if a.Text("metadata.more") != "yes" || a.Text("metadata.checked") != s.key {
					t.Fail("the metadata is not the old and the new metadata combined")
				}
			}},
		{ID: "agentprotocol.threads.patch.values", Level: check.Must, Says: "Patching a thread merges the values.", Cites: agentProtocolDoc.At("patch_thread, 200; schema ThreadPatch, values"), Run: s.patchValues},
		{ID: "agentprotocol.threads.patch.unknown", Level: check.Must, Says: "Patching an unknown thread returns 404.", Cites: agentProtocolDoc.At("patch_thread, 404"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Put(http.MethodPatch, "/threads/"+uuid.NewString(), map[string]any{"metadata": map[string]any{}}).Is(http.StatusNotFound)
			}},
		{ID: "agentprotocol.threads.history", Level: check.Must, Says: "The history of a thread can be listed.", Cites: agentProtocolDoc.At("get_thread_history, 200; schema ThreadState"), Run: s.history},
		{ID: "agentprotocol.threads.history.unknown", Level: check.Must, Says: "Listing the history of an unknown thread returns 404.", Cites: agentProtocolDoc.At("get_thread_history, 404"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Get("/threads/" + uuid.NewString() + "/history").Is(http.StatusNotFound)
			}},
		{ID: "agentprotocol.threads.copy", Level: check.Must, Says: "Copying a thread creates a new one.", Cites: agentProtocolDoc.At("copy_thread, 200; schema Thread"),
			Run: func(t *check.Talk) {
				id := s.aThread(t)
				a := t.Send(check.Request{Method: http.MethodPost, Path: "/threads/" + id + "/copy"}).Is(http.StatusOK).Fits(apThread)
				if made := a.Text("thread_id"); made == id {
					t.Fail("the copy has the id of the original")
				} else {
					removeThread(t, made)
				}
			}},
		{ID: "agentprotocol.threads.copy.unknown", Level: check.Must, Says: "Copying an unknown thread returns 404.", Cites: agentProtocolDoc.At("copy_thread, 404"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				t.Send(check.Request{Method: http.MethodPost, Path: "/threads/" + uuid.NewString() + "/copy"}).Is(http.StatusNotFound)
			}},
		{ID: "agentprotocol.threads.delete", Level: check.Must, Says: "Deleting a thread returns 204; afterwards the thread is unknown.", Cites: agentProtocolDoc.At("delete_thread, 204; get_thread, 404"),
			Run: func(t *check.Talk) {
				s.aThread(t)
				path := "/threads/" + s.makeThread(t).ID("thread_id")
				t.Delete(path).Is(http.StatusNoContent)
				t.Get(path).Is(http.StatusNotFound)
			}},
	}
}

// patchValues changes a new thread, because the values of a thread with runs belong to its agent.
func (s *agentProtocol) patchValues(t *check.Talk) {
	s.aThread(t)
	path := "/threads/" + s.makeThread(t).ID("thread_id")
	for _, values := range []map[string]any{{"one": "1"}, {"two": "2"}} {
		a := t.Put(http.MethodPatch, path, map[string]any{"values": values})
		if a.Status/100 == 4 && !t.Over() {
			t.Skip("the server refuses values on a thread without an agent (%d)", a.Status)
		}
		a.Is(http.StatusOK)
	}
	if a := t.Get(path).Is(http.StatusOK); a.Text("values.one") != "1" || a.Text("values.two") != "2" {
		t.Fail("the values are not the old and the new values combined")
	}
}

func (s *agentProtocol) history(t *check.Talk) {
	run := s.aRun(t)
	thread := check.TextAt(run.Value(), "run.thread_id")
	if thread == "" {
		t.Skip("the run names no thread_id")
	}
	a := t.Get("/threads/" + thread + "/history").Is(http.StatusOK).Fits(check.List(apState))
	if len(a.List("")) == 0 && !t.Over() {
		t.Fail("the thread has had a run, but its history is empty")
	}
}
