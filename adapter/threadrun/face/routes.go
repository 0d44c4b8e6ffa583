package face

import (
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// endpoint is one operation of the face.
type endpoint struct {
	method, path string
	serve        handler
	refused      bool // known, and refused by name
}

// endpoints are all operations, the hot ones first. Sources: Agent Protocol
// 0.1.6, openapi.json; LangGraph SDKs for JavaScript and Python.
var endpoints = []endpoint{
	on("POST", "/runs/wait", (*server).waitStateless),
	on("POST", "/runs/stream", (*server).streamStateless),
	on("POST", "/threads/{thread_id}/runs/wait", (*server).waitThread),
	on("POST", "/threads/{thread_id}/runs/stream", (*server).streamThread),
	on("POST", "/threads", (*server).createThread),
	on("POST", "/threads/{thread_id}/runs", (*server).createRunThread),
	on("GET", "/threads/{thread_id}", (*server).getThread),
	on("GET", "/threads/{thread_id}/runs/{run_id}", (*server).getRun),
	on("GET", "/threads/{thread_id}/state", (*server).getState),
	on("PUT", "/store/items", (*server).putItem),
	on("GET", "/store/items", (*server).getItem),
	on("POST", "/store/items/search", (*server).searchItems),

	on("POST", "/threads/search", (*server).searchThreads),
	on("POST", "/threads/count", (*server).countThreads),
	on("POST", "/threads/prune", (*server).pruneThreads),
	on("PATCH", "/threads/{thread_id}", (*server).patchThread),
	on("DELETE", "/threads/{thread_id}", (*server).deleteThread),
	on("POST", "/threads/{thread_id}/copy", (*server).copyThread),
	on("POST", "/threads/{thread_id}/state", (*server).updateState),
	on("POST", "/threads/{thread_id}/state/checkpoint", (*server).stateAtCheckpoint),
	on("GET", "/threads/{thread_id}/state/{checkpoint_id}", (*server).stateAt),
	on("GET", "/threads/{thread_id}/history", (*server).getHistory),
	on("POST", "/threads/{thread_id}/history", (*server).postHistory),
	on("GET", "/threads/{thread_id}/stream", (*server).streamThreadWide),
	on("POST", "/threads/{thread_id}/stream", (*server).streamEventsCamel),
	on("POST", "/threads/{thread_id}/stream/events", (*server).streamEvents),
	on("GET", "/threads/{thread_id}/stream/events", (*server).streamEventsSocket),
	on("POST", "/threads/{thread_id}/commands", (*server).commands),

	on("GET", "/threads/{thread_id}/runs", (*server).listRuns),
	on("DELETE", "/threads/{thread_id}/runs/{run_id}", (*server).deleteRun),
	on("GET", "/threads/{thread_id}/runs/{run_id}/stream", (*server).joinStream),
	on("POST", "/threads/{thread_id}/runs/{run_id}/stream", (*server).resumeStream),
	on("GET", "/threads/{thread_id}/runs/{run_id}/join", (*server).joinRun),
	on("GET", "/threads/{thread_id}/runs/{run_id}/wait", (*server).waitRunThread),
	on("POST", "/threads/{thread_id}/runs/{run_id}/cancel", (*server).cancelRunThread),
	on("GET", "/threads/{thread_id}/runs/{run_id}/explain", (*server).explainRun),

	on("POST", "/runs", (*server).createRunStateless),
	on("POST", "/runs/search", (*server).searchRuns),
	on("POST", "/runs/batch", (*server).batchRuns),
	on("POST", "/runs/cancel", (*server).cancelMany),
	on("POST", "/runs/crons/search", (*server).searchCrons),
	on("POST", "/runs/crons/count", (*server).countCrons),
	on("POST", "/runs/crons", (*server).createCron),
	on("POST", "/threads/{thread_id}/runs/crons", (*server).createCronThread),
	on("PATCH", "/runs/crons/{cron_id}", (*server).patchCron),
	on("DELETE", "/runs/crons/{cron_id}", (*server).deleteCron),
	on("GET", "/runs/{run_id}", (*server).getRunAP),
	on("DELETE", "/runs/{run_id}", (*server).deleteRun),
	on("GET", "/runs/{run_id}/wait", (*server).waitRunAP),
	on("GET", "/runs/{run_id}/join", (*server).joinRun),
	on("GET", "/runs/{run_id}/stream", (*server).joinStream),
	on("POST", "/runs/{run_id}/cancel", (*server).cancelRunAP),
	on("GET", "/runs/{run_id}/explain", (*server).explainRun),

	on("POST", "/assistants/search", (*server).searchAssistants),
	on("POST", "/assistants/count", (*server).countAssistants),
	on("GET", "/assistants/{assistant_id}", (*server).getAssistant),
	on("GET", "/assistants/{assistant_id}/graph", (*server).assistantGraph),
	on("GET", "/assistants/{assistant_id}/schemas", (*server).assistantSchemas),
	on("GET", "/assistants/{assistant_id}/subgraphs", (*server).assistantSubgraphs),
	on("GET", "/assistants/{assistant_id}/subgraphs/{namespace}", (*server).assistantSubgraphs),
	on("POST", "/assistants/{assistant_id}/versions", (*server).assistantVersions),
	on("POST", "/assistants/{assistant_id}/latest", (*server).assistantLatest),
	on("POST", "/assistants", (*server).createAssistant),
	on("PATCH", "/assistants/{assistant_id}", (*server).patchAssistant),
	on("DELETE", "/assistants/{assistant_id}", (*server).deleteAssistant),

	on("POST", "/agents/search", (*server).searchAgents),
	on("GET", "/agents/{agent_id}", (*server).getAgent),
	on("GET", "/agents/{agent_id}/schemas", (*server).agentSchemas),

	on("DELETE", "/store/items", (*server).deleteItem),
	on("POST", "/store/namespaces", (*server).listNamespaces),

	on("GET", "/ok", (*server).ok),
	on("GET", "/info", (*server).info),

	refuse("PATCH", "/threads/{thread_id}/state", "patching a state's metadata"),
	refuse("POST", "/ui/{assistant_id}", "serving user interfaces"),
}

func on(method, path string, serve handler) endpoint { return endpoint{method, path, serve, false} }

// refuse answers a known operation that is not there with 404 and its name;
// SDKs take that as final, while they retry 501.
func refuse(method, path, what string) endpoint {
	return endpoint{method, path, func(*server, http.ResponseWriter, *http.Request) error { return notSupported(what) }, true}
}

func notSupported(what string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeNotSupported, "Not supported here: %s.", what)
}
