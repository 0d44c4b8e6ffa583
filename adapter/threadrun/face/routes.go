package face

import (
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// handler responds to one request. If it returns an error, it has written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

// endpoint is one operation of the face.
type endpoint struct {
	method, path string
	serve        handler
	needs        []string // the rights of the operation
}

// The rights that operations need. Creating a cron also needs the right to run, because the cron creates runs. The
// handler of commands checks the right for the command.
var (
	nothing = []string{}
	toRead  = []string{mapping.RightRead}
	toWrite = []string{mapping.RightWrite}
	toRun   = []string{mapping.RightRun}
	toCron  = []string{mapping.RightWrite, mapping.RightRun}
	toAdmin = []string{mapping.RightAdmin}
)

// endpoints returns the operations that the face serves. The router tries them in this order, so the routes called most
// come first. Sources: Agent Protocol 0.1.6, openapi.json; LangGraph SDKs for JavaScript and Python.
func (s *server) endpoints() []endpoint {
	return []endpoint{
		{"POST", "/runs/wait", s.createRunAndWait, toRun},
		{"POST", "/runs/stream", asStream(s.createRunAndStream), toRun},
		{"POST", "/threads/{thread_id}/runs/wait", s.createRunAndWait, toRun},
		{"POST", "/threads/{thread_id}/runs/stream", asStream(s.createRunAndStream), toRun},
		{"POST", "/threads", s.createThread, toWrite},
		{"POST", "/threads/{thread_id}/runs", s.createRun, toRun},
		{"GET", "/threads/{thread_id}", s.getThread, toRead},
		{"GET", "/threads/{thread_id}/runs/{run_id}", s.getRun, toRead},
		{"GET", "/threads/{thread_id}/state", s.getState, toRead},
		{"PUT", "/store/items", s.putItem, toWrite},
		{"GET", "/store/items", s.getItem, toRead},
		{"POST", "/store/items/search", s.searchItems, toRead},

		{"GET", "/threads", s.listThreads, toRead},
		{"POST", "/threads/search", s.searchThreads, toRead},
		{"POST", "/threads/count", s.countThreads, toRead},
		{"POST", "/threads/prune", s.pruneThreads, toAdmin},
		{"PATCH", "/threads/{thread_id}", s.patchThread, toWrite},
		{"DELETE", "/threads/{thread_id}", s.deleteThread, toWrite},
		{"POST", "/threads/{thread_id}/copy", s.copyThread, toWrite},
		{"GET", "/threads/{thread_id}/storage", s.getThreadStorage, toRead},
		{"POST", "/threads/{thread_id}/state", s.updateState, toWrite},
		{"POST", "/threads/{thread_id}/state/checkpoint", s.getStateAtCheckpoint, toRead},
		{"GET", "/threads/{thread_id}/state/{checkpoint_id}", s.getStateByID, toRead},
		{"GET", "/threads/{thread_id}/history", s.getHistory, toRead},
		{"POST", "/threads/{thread_id}/history", s.searchHistory, toRead},
		{"GET", "/threads/{thread_id}/stream", asStream(s.streamThread), toRead},
		{"POST", "/threads/{thread_id}/stream", asStream(s.streamEventsCamel), toRead},
		{"POST", "/threads/{thread_id}/stream/events", asStream(s.streamEvents), toRead},
		{"GET", "/threads/{thread_id}/stream/events", asStream(s.openEventSocket), toRead},
		{"POST", "/threads/{thread_id}/commands", s.postCommand, nothing},

		{"GET", "/threads/{thread_id}/runs", s.listRuns, toRead},
		{"DELETE", "/threads/{thread_id}/runs/{run_id}", s.deleteRun, toWrite},
		{"GET", "/threads/{thread_id}/runs/{run_id}/stream", asStream(s.joinRunStream), toRead},
		{"POST", "/threads/{thread_id}/runs/{run_id}/stream", asStream(s.resumeRunStream), toRead},
		{"GET", "/threads/{thread_id}/runs/{run_id}/join", s.joinRun, toRead},
		{"GET", "/threads/{thread_id}/runs/{run_id}/wait", s.joinRunWithStatus, toRead},
		{"POST", "/threads/{thread_id}/runs/{run_id}/cancel", s.cancelRun, toRun},
		{"GET", "/threads/{thread_id}/runs/{run_id}/explain", s.explainRun, toRead},

		{"POST", "/runs", s.createRun, toRun},
		{"POST", "/runs/search", s.searchRuns, toRead},
		{"POST", "/runs/batch", s.createRuns, toRun},
		{"POST", "/runs/cancel", s.cancelRuns, toRun},
		{"POST", "/runs/crons/search", s.searchCrons, toRead},
		{"POST", "/runs/crons/count", s.countCrons, toRead},
		{"POST", "/runs/crons", s.createCron, toCron},
		{"POST", "/threads/{thread_id}/runs/crons", s.createCronOnThread, toCron},
		{"GET", "/runs/crons/{cron_id}", s.getCron, toRead},
		{"PATCH", "/runs/crons/{cron_id}", s.patchCron, toCron},
		{"DELETE", "/runs/crons/{cron_id}", s.deleteCron, toWrite},
		{"GET", "/runs/{run_id}", s.getRunAP, toRead},
		{"DELETE", "/runs/{run_id}", s.deleteRun, toWrite},
		{"GET", "/runs/{run_id}/wait", s.joinRunAP, toRead},
		{"GET", "/runs/{run_id}/join", s.joinRun, toRead},
		{"GET", "/runs/{run_id}/stream", asStream(s.joinRunStream), toRead},
		{"POST", "/runs/{run_id}/cancel", s.cancelRunAP, toRun},
		{"GET", "/runs/{run_id}/explain", s.explainRun, toRead},

		{"GET", "/assistants", s.listAssistants, toRead},
		{"POST", "/assistants/search", s.searchAssistants, toRead},
		{"POST", "/assistants/count", s.countAssistants, toRead},
		{"GET", "/assistants/{assistant_id}", s.getAssistant, toRead},
		{"GET", "/assistants/{assistant_id}/graph", s.getAssistantGraph, toRead},
		{"GET", "/assistants/{assistant_id}/schemas", s.getAssistantSchemas, toRead},
		{"GET", "/assistants/{assistant_id}/subgraphs", s.getAssistantSubgraphs, toRead},
		{"GET", "/assistants/{assistant_id}/subgraphs/{namespace}", s.getAssistantSubgraphs, toRead},
		{"POST", "/assistants/{assistant_id}/versions", s.listAssistantVersions, toRead},
		{"POST", "/assistants/{assistant_id}/latest", s.setLatestAssistant, toWrite},
		{"POST", "/assistants", s.createAssistant, toWrite},
		{"PATCH", "/assistants/{assistant_id}", s.patchAssistant, toWrite},
		{"DELETE", "/assistants/{assistant_id}", s.deleteAssistant, toWrite},

		{"POST", "/agents/search", s.searchAgents, toRead},
		{"GET", "/agents/{agent_id}", s.getAgent, toRead},
		{"GET", "/agents/{agent_id}/schemas", s.getAgentSchemas, toRead},

		{"DELETE", "/store/items", s.deleteItem, toWrite},
		{"POST", "/store/namespaces", s.listNamespaces, toRead},

		{"GET", "/data", s.getData, toAdmin},
		{"GET", "/data/export", s.exportData, toAdmin},
		{"DELETE", "/data", s.deleteData, toAdmin},

		{"GET", "/ok", s.getOK, nothing},
		{"HEAD", "/ok", s.getOK, nothing},
		{"GET", "/info", s.getInfo, toRead},
		{"GET", "/limits", s.getLimits, toRead},
	}
}

// unsupported lists operations that clients may call but the face refuses by name. The status is 404, which SDKs treat
// as final; they would retry 501.
var unsupported = []struct{ method, path, what string }{
	{"PATCH", "/threads/{thread_id}/state", "patching a state's metadata"},
	{"POST", "/ui/{assistant_id}", "serving user interfaces"},
}

// asStream counts a response as an open stream until serve returns.
func asStream(serve handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		done, err := adapter.OpenStream(r.Context())
		if err != nil {
			return err
		}
		defer done()
		return serve(w, r)
	}
}
