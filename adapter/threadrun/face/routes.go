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
	on("POST", "/runs/wait", waits.start),
	on("POST", "/runs/stream", streams.start),
	on("POST", "/threads/{thread_id}/runs/wait", waits.start),
	on("POST", "/threads/{thread_id}/runs/stream", streams.start),
	on("POST", "/threads", threads.create),
	on("POST", "/threads/{thread_id}/runs", runs.create),
	on("GET", "/threads/{thread_id}", threads.get),
	on("GET", "/threads/{thread_id}/runs/{run_id}", runs.get),
	on("GET", "/threads/{thread_id}/state", states.get),
	on("PUT", "/store/items", items.put),
	on("GET", "/store/items", items.get),
	on("POST", "/store/items/search", items.search),

	on("POST", "/threads/search", threads.search),
	on("POST", "/threads/count", threads.count),
	on("POST", "/threads/prune", threads.prune),
	on("PATCH", "/threads/{thread_id}", threads.patch),
	on("DELETE", "/threads/{thread_id}", threads.delete),
	on("POST", "/threads/{thread_id}/copy", threads.copy),
	on("GET", "/threads/{thread_id}/storage", threads.storage),
	on("POST", "/threads/{thread_id}/state", states.update),
	on("POST", "/threads/{thread_id}/state/checkpoint", states.atCheckpoint),
	on("GET", "/threads/{thread_id}/state/{checkpoint_id}", states.at),
	on("GET", "/threads/{thread_id}/history", states.getHistory),
	on("POST", "/threads/{thread_id}/history", states.postHistory),
	on("GET", "/threads/{thread_id}/stream", streams.wholeThread),
	on("POST", "/threads/{thread_id}/stream", protocolRoutes.eventsCamel),
	on("POST", "/threads/{thread_id}/stream/events", protocolRoutes.events),
	on("GET", "/threads/{thread_id}/stream/events", protocolRoutes.eventsSocket),
	on("POST", "/threads/{thread_id}/commands", protocolRoutes.command),

	on("GET", "/threads/{thread_id}/runs", runs.list),
	on("DELETE", "/threads/{thread_id}/runs/{run_id}", runs.delete),
	on("GET", "/threads/{thread_id}/runs/{run_id}/stream", streams.join),
	on("POST", "/threads/{thread_id}/runs/{run_id}/stream", streams.resume),
	on("GET", "/threads/{thread_id}/runs/{run_id}/join", waits.join),
	on("GET", "/threads/{thread_id}/runs/{run_id}/wait", waits.joinWithStatus),
	on("POST", "/threads/{thread_id}/runs/{run_id}/cancel", cancels.one),
	on("GET", "/threads/{thread_id}/runs/{run_id}/explain", runs.explain),

	on("POST", "/runs", runs.create),
	on("POST", "/runs/search", runs.search),
	on("POST", "/runs/batch", runs.batch),
	on("POST", "/runs/cancel", cancels.many),
	on("POST", "/runs/crons/search", crons.search),
	on("POST", "/runs/crons/count", crons.count),
	on("POST", "/runs/crons", crons.create),
	on("POST", "/threads/{thread_id}/runs/crons", crons.createOnThread),
	on("GET", "/runs/crons/{cron_id}", crons.get),
	on("PATCH", "/runs/crons/{cron_id}", crons.patch),
	on("DELETE", "/runs/crons/{cron_id}", crons.delete),
	on("GET", "/runs/{run_id}", runs.getAP),
	on("DELETE", "/runs/{run_id}", runs.delete),
	on("GET", "/runs/{run_id}/wait", waits.joinAP),
	on("GET", "/runs/{run_id}/join", waits.join),
	on("GET", "/runs/{run_id}/stream", streams.join),
	on("POST", "/runs/{run_id}/cancel", cancels.oneAP),
	on("GET", "/runs/{run_id}/explain", runs.explain),

	on("POST", "/assistants/search", assistants.search),
	on("POST", "/assistants/count", assistants.count),
	on("GET", "/assistants/{assistant_id}", assistants.get),
	on("GET", "/assistants/{assistant_id}/graph", assistants.graph),
	on("GET", "/assistants/{assistant_id}/schemas", assistants.schemas),
	on("GET", "/assistants/{assistant_id}/subgraphs", assistants.subgraphs),
	on("GET", "/assistants/{assistant_id}/subgraphs/{namespace}", assistants.subgraphs),
	on("POST", "/assistants/{assistant_id}/versions", assistants.versions),
	on("POST", "/assistants/{assistant_id}/latest", assistants.setLatest),
	on("POST", "/assistants", assistants.create),
	on("PATCH", "/assistants/{assistant_id}", assistants.patch),
	on("DELETE", "/assistants/{assistant_id}", assistants.delete),

	on("POST", "/agents/search", agents.search),
	on("GET", "/agents/{agent_id}", agents.get),
	on("GET", "/agents/{agent_id}/schemas", agents.schemas),

	on("DELETE", "/store/items", items.delete),
	on("POST", "/store/namespaces", items.namespaces),

	on("GET", "/ok", about.ok),
	on("GET", "/info", about.info),

	refuse("PATCH", "/threads/{thread_id}/state", "patching a state's metadata"),
	refuse("POST", "/ui/{assistant_id}", "serving user interfaces"),
}

// on gives a route to a handler of the type H, which is a server by another name.
func on[H ~struct{ *server }](method, path string, serve func(H, http.ResponseWriter, *http.Request) error) endpoint {
	return endpoint{method, path, func(s *server, w http.ResponseWriter, r *http.Request) error { return serve(H{s}, w, r) }, false}
}

// refuse answers a known operation that is not there with 404 and its name;
// SDKs take that as final, while they retry 501.
func refuse(method, path, what string) endpoint {
	return endpoint{method, path, func(*server, http.ResponseWriter, *http.Request) error { return notSupported(what) }, true}
}

func notSupported(what string) error {
	return mapping.Errorf(mapping.NotFound, mapping.CodeNotSupported, "Not supported here: %s.", what)
}
