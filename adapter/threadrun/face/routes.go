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
	by(toWrite, "PUT", "/store/items", (*server).putItem),
	by(toRead, "GET", "/store/items", (*server).getItem),
	by(toRead, "POST", "/store/items/search", (*server).searchItems),

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
	by(toRead, "POST", "/runs/crons/search", (*server).searchCrons),
	by(toRead, "POST", "/runs/crons/count", (*server).countCrons),
	by(toCron, "POST", "/runs/crons", (*server).createCron),
	by(toCron, "POST", "/threads/{thread_id}/runs/crons", (*server).createCronOnThread),
	by(toRead, "GET", "/runs/crons/{cron_id}", (*server).getCron),
	by(toCron, "PATCH", "/runs/crons/{cron_id}", (*server).patchCron),
	by(toWrite, "DELETE", "/runs/crons/{cron_id}", (*server).deleteCron),
	by(toRead, "GET", "/runs/{run_id}", (*server).getRunAP),
	by(toWrite, "DELETE", "/runs/{run_id}", (*server).deleteRun),
	by(toRead, "GET", "/runs/{run_id}/wait", (*server).joinRunAP),
	by(toRead, "GET", "/runs/{run_id}/join", (*server).joinRun),
	by(toRead, "GET", "/runs/{run_id}/stream", (*server).joinRunStream),
	by(toRun, "POST", "/runs/{run_id}/cancel", (*server).cancelRunAP),
	by(toRead, "GET", "/runs/{run_id}/explain", (*server).explainRun),

	by(toRead, "GET", "/assistants", (*server).listAssistants),
	by(toRead, "POST", "/assistants/search", (*server).searchAssistants),
	by(toRead, "POST", "/assistants/count", (*server).countAssistants),
	by(toRead, "GET", "/assistants/{assistant_id}", (*server).getAssistant),
	by(toRead, "GET", "/assistants/{assistant_id}/graph", (*server).getAssistantGraph),
	by(toRead, "GET", "/assistants/{assistant_id}/schemas", (*server).getAssistantSchemas),
	by(toRead, "GET", "/assistants/{assistant_id}/subgraphs", (*server).getAssistantSubgraphs),
	by(toRead, "GET", "/assistants/{assistant_id}/subgraphs/{namespace}", (*server).getAssistantSubgraphs),
	by(toRead, "POST", "/assistants/{assistant_id}/versions", (*server).listAssistantVersions),
	by(toWrite, "POST", "/assistants/{assistant_id}/latest", (*server).setLatestAssistant),
	by(toWrite, "POST", "/assistants", (*server).createAssistant),
	by(toWrite, "PATCH", "/assistants/{assistant_id}", (*server).patchAssistant),
	by(toWrite, "DELETE", "/assistants/{assistant_id}", (*server).deleteAssistant),

	by(toRead, "POST", "/agents/search", (*server).searchAgents),
	by(toRead, "GET", "/agents/{agent_id}", (*server).getAgent),
	by(toRead, "GET", "/agents/{agent_id}/schemas", (*server).getAgentSchemas),

	by(toWrite, "DELETE", "/store/items", (*server).deleteItem),
	by(toRead, "POST", "/store/namespaces", (*server).listNamespaces),

	by(toAdmin, "GET", "/data", (*server).getData),
	by(toAdmin, "GET", "/data/export", (*server).exportData),
	by(toAdmin, "DELETE", "/data", (*server).deleteData),

	by(nothing, "GET", "/ok", (*server).getOK),
	by(nothing, "HEAD", "/ok", (*server).getOK),
	by(toRead, "GET", "/info", (*server).getInfo),
	by(toRead, "GET", "/limits", (*server).getLimits),

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
