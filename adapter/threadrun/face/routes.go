package face

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// endpoint is one operation of the face.
type endpoint struct {
	method, path string
	serve        handler
	refused      bool     // known, and refused by name
	needs        []string // rights
}

// The rights that operations need. A cron makes runs, so the right to write alone is not enough for one. A command of
// the streaming protocol asks for the right it needs itself.
var (
	nothing = []string{}
	toRead  = []string{mapping.RightRead}
	toWrite = []string{mapping.RightWrite}
	toRun   = []string{mapping.RightRun}
	toCron  = []string{mapping.RightWrite, mapping.RightRun}
	toAdmin = []string{mapping.RightAdmin}
)

// endpoints are all operations, the busiest ones first. Sources: Agent Protocol 0.1.6, openapi.json; LangGraph SDKs for
// JavaScript and Python.
var endpoints = []endpoint{
	by(toRun, "POST", "/runs/wait", (*server).createRunAndWait),
	by(toRun, "POST", "/runs/stream", (*server).createRunAndStream),
	by(toRun, "POST", "/threads/{thread_id}/runs/wait", (*server).createRunAndWait),
	by(toRun, "POST", "/threads/{thread_id}/runs/stream", (*server).createRunAndStream),
	by(toWrite, "POST", "/threads", (*server).createThread),
	by(toRun, "POST", "/threads/{thread_id}/runs", (*server).createRun),
	by(toRead, "GET", "/threads/{thread_id}", (*server).getThread),
	by(toRead, "GET", "/threads/{thread_id}/runs/{run_id}", (*server).getRun),
	by(toRead, "GET", "/threads/{thread_id}/state", (*server).getState),
	on(toWrite, "PUT", "/store/items", items.put),
	on(toRead, "GET", "/store/items", items.get),
	on(toRead, "POST", "/store/items/search", items.search),

	by(toRead, "GET", "/threads", (*server).listThreads),
	by(toRead, "POST", "/threads/search", (*server).searchThreads),
	by(toRead, "POST", "/threads/count", (*server).countThreads),
	by(toAdmin, "POST", "/threads/prune", (*server).pruneThreads),
	by(toWrite, "PATCH", "/threads/{thread_id}", (*server).patchThread),
	by(toWrite, "DELETE", "/threads/{thread_id}", (*server).deleteThread),
	by(toWrite, "POST", "/threads/{thread_id}/copy", (*server).copyThread),
	by(toRead, "GET", "/threads/{thread_id}/storage", (*server).getThreadStorage),
	by(toWrite, "POST", "/threads/{thread_id}/state", (*server).updateState),
	by(toRead, "POST", "/threads/{thread_id}/state/checkpoint", (*server).getStateAtCheckpoint),
	by(toRead, "GET", "/threads/{thread_id}/state/{checkpoint_id}", (*server).getStateByID),
	by(toRead, "GET", "/threads/{thread_id}/history", (*server).getHistory),
	by(toRead, "POST", "/threads/{thread_id}/history", (*server).searchHistory),
	by(toRead, "GET", "/threads/{thread_id}/stream", (*server).streamThread),
	by(toRead, "POST", "/threads/{thread_id}/stream", (*server).streamEventsCamel),
	by(toRead, "POST", "/threads/{thread_id}/stream/events", (*server).streamEvents),
	by(toRead, "GET", "/threads/{thread_id}/stream/events", (*server).openEventSocket),
	by(nothing, "POST", "/threads/{thread_id}/commands", (*server).postCommand),

	by(toRead, "GET", "/threads/{thread_id}/runs", (*server).listRuns),
	by(toWrite, "DELETE", "/threads/{thread_id}/runs/{run_id}", (*server).deleteRun),
	by(toRead, "GET", "/threads/{thread_id}/runs/{run_id}/stream", (*server).joinRunStream),
	by(toRead, "POST", "/threads/{thread_id}/runs/{run_id}/stream", (*server).resumeRunStream),
	by(toRead, "GET", "/threads/{thread_id}/runs/{run_id}/join", (*server).joinRun),
	by(toRead, "GET", "/threads/{thread_id}/runs/{run_id}/wait", (*server).joinRunWithStatus),
	by(toRun, "POST", "/threads/{thread_id}/runs/{run_id}/cancel", (*server).cancelRun),
	by(toRead, "GET", "/threads/{thread_id}/runs/{run_id}/explain", (*server).explainRun),

	by(toRun, "POST", "/runs", (*server).createRun),
	by(toRead, "POST", "/runs/search", (*server).searchRuns),
	by(toRun, "POST", "/runs/batch", (*server).createRuns),
	by(toRun, "POST", "/runs/cancel", (*server).cancelRuns),
	on(toRead, "POST", "/runs/crons/search", crons.search),
	on(toRead, "POST", "/runs/crons/count", crons.count),
	on(toCron, "POST", "/runs/crons", crons.create),
	on(toCron, "POST", "/threads/{thread_id}/runs/crons", crons.createOnThread),
	on(toRead, "GET", "/runs/crons/{cron_id}", crons.get),
	on(toCron, "PATCH", "/runs/crons/{cron_id}", crons.patch),
	on(toWrite, "DELETE", "/runs/crons/{cron_id}", crons.delete),
	by(toRead, "GET", "/runs/{run_id}", (*server).getRunAP),
	by(toWrite, "DELETE", "/runs/{run_id}", (*server).deleteRun),
	by(toRead, "GET", "/runs/{run_id}/wait", (*server).joinRunAP),
	by(toRead, "GET", "/runs/{run_id}/join", (*server).joinRun),
	by(toRead, "GET", "/runs/{run_id}/stream", (*server).joinRunStream),
	by(toRun, "POST", "/runs/{run_id}/cancel", (*server).cancelRunAP),
	by(toRead, "GET", "/runs/{run_id}/explain", (*server).explainRun),

	on(toRead, "GET", "/assistants", assistants.list),
	on(toRead, "POST", "/assistants/search", assistants.search),
	on(toRead, "POST", "/assistants/count", assistants.count),
	on(toRead, "GET", "/assistants/{assistant_id}", assistants.get),
	on(toRead, "GET", "/assistants/{assistant_id}/graph", assistants.graph),
	on(toRead, "GET", "/assistants/{assistant_id}/schemas", assistants.schemas),
	on(toRead, "GET", "/assistants/{assistant_id}/subgraphs", assistants.subgraphs),
	on(toRead, "GET", "/assistants/{assistant_id}/subgraphs/{namespace}", assistants.subgraphs),
	on(toRead, "POST", "/assistants/{assistant_id}/versions", assistants.versions),
	on(toWrite, "POST", "/assistants/{assistant_id}/latest", assistants.setLatest),
	on(toWrite, "POST", "/assistants", assistants.create),
	on(toWrite, "PATCH", "/assistants/{assistant_id}", assistants.patch),
	on(toWrite, "DELETE", "/assistants/{assistant_id}", assistants.delete),

	on(toRead, "POST", "/agents/search", agents.search),
	on(toRead, "GET", "/agents/{agent_id}", agents.get),
	on(toRead, "GET", "/agents/{agent_id}/schemas", agents.schemas),

	on(toWrite, "DELETE", "/store/items", items.delete),
	on(toRead, "POST", "/store/namespaces", items.namespaces),

	on(toAdmin, "GET", "/data", data.held),
	on(toAdmin, "GET", "/data/export", data.export),
	on(toAdmin, "DELETE", "/data", data.remove),

	on(nothing, "GET", "/ok", about.ok),
	on(nothing, "HEAD", "/ok", about.ok),
	on(toRead, "GET", "/info", about.info),
	on(toRead, "GET", "/limits", about.limits),

	refuse("PATCH", "/threads/{thread_id}/state", "patching a state's metadata"),
	refuse("POST", "/ui/{assistant_id}", "serving user interfaces"),
}

// on gives a route, and what it needs, to a handler of the type H, which is a server by another name.
func on[H ~struct{ *server }](needs []string, method, path string, serve func(H, http.ResponseWriter, *http.Request) error) endpoint {
	return endpoint{method, path, func(s *server, w http.ResponseWriter, r *http.Request) error { return serve(H{s}, w, r) }, false, needs}
}

// refuse answers a known operation that is not there with 404 and its name; SDKs take that as final, while they retry
// 501.
func refuse(method, path, what string) endpoint {
	return endpoint{method, path, func(*server, http.ResponseWriter, *http.Request) error { return notSupported(what) }, true, nothing}
}

func notSupported(what string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeNotSupported, "Not supported here: %s.", what)
}

// opensStream are the operations that answer with a stream or a WebSocket, as method and path.
var opensStream = map[string]bool{
	"POST /runs/stream":                              true,
	"GET /runs/{run_id}/stream":                      true,
	"POST /threads/{thread_id}/runs/stream":          true,
	"GET /threads/{thread_id}/runs/{run_id}/stream":  true,
	"POST /threads/{thread_id}/runs/{run_id}/stream": true,
	"GET /threads/{thread_id}/stream":                true,
	"POST /threads/{thread_id}/stream":               true,
	"GET /threads/{thread_id}/stream/events":         true,
	"POST /threads/{thread_id}/stream/events":        true,
}

func by(needs []string, method, path string, serve handler) endpoint {
	return endpoint{method, path, serve, false, needs}
}
