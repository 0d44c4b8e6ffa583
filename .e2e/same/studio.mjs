// The requests of LangGraph Studio's page: from its own origin, with bodies declared as text, for which browsers send no
// preflight request.
import { says } from "./caller.mjs";

const headers = { origin: "https://smith.langchain.com", "x-auth-scheme": "langsmith", "content-type": "text/plain;charset=UTF-8" };

const page = ({ call }) => ({
  get: (path) => call("GET", path, undefined, { origin: headers.origin, "x-auth-scheme": "langsmith" }),
  post: (path, body) => call("POST", path, body, headers),
  patch: (path, body) => call("PATCH", path, body, headers),
  remove: (path) => call("DELETE", path, undefined, headers),
});

const stream = { stream_mode: ["debug", "messages"], stream_subgraphs: true, multitask_strategy: "rollback" };

export const studio = {
  "a graph is shown": async (c) => {
    const { get, post } = page(c);
    await get("/info");
    const [{ assistant_id }] = await post("/assistants/search", { graph_id: "typed", limit: 10, offset: 0, metadata: { created_by: "system" } });
    await get(`/assistants/${assistant_id}`);
    await get(`/assistants/${assistant_id}/graph?xray=true`);
    await get(`/assistants/${assistant_id}/schemas`);
    await get(`/assistants/${assistant_id}/subgraphs?recurse=true`);
    await post(`/assistants/${assistant_id}/versions`, { limit: 10, offset: 0 });
    await post("/threads/search", { limit: 10, offset: 0, metadata: { graph_id: c.mark } });
  },
  "a graph is run, stopped at a node, edited and forked": async (c) => {
    const { get, post, patch, remove } = page(c);
    const { thread_id } = await post("/threads", { metadata: { mark: c.mark } });
    const at = `/threads/${thread_id}`;
    await get(`${at}/state?subgraphs=true`);
    await post(`${at}/history`, { limit: 1000 });
    await post(`${at}/runs/stream`, { assistant_id: "chat", input: says("hi"), interrupt_before: ["answer"], config: { configurable: {} }, ...stream });
    await get(`${at}/state?subgraphs=true`);
    const [stopped] = await post(`${at}/history`, { limit: 1000 });
    await post(`${at}/state/checkpoint`, { checkpoint: stopped.checkpoint });
    await post(`${at}/state`, { values: says("instead", 2), checkpoint: stopped.checkpoint, as_node: "plan" });
    await post(`${at}/runs/stream`, { assistant_id: "chat", input: null, ...stream });
    await post(`${at}/runs/stream`, { assistant_id: "chat", input: null, checkpoint: stopped.checkpoint, ...stream });
    await get(`${at}/runs?limit=10&offset=0`);
    await patch(at, { metadata: { title: "mine" } });
    await get(at);
    await post("/threads/search", { limit: 10, offset: 0, metadata: { mark: c.mark } });
    await remove(at);
  },
  "a question is answered, and memory read": async (c) => {
    const { get, post } = page(c);
    const { thread_id } = await post("/threads", {});
    const at = `/threads/${thread_id}`;
    await post(`${at}/runs/stream`, { assistant_id: "ask", input: says("hi"), ...stream });
    await post(`${at}/runs/stream`, { assistant_id: "ask", command: { resume: "yes" }, ...stream });
    await get(`${at}/state?subgraphs=true`);
    await post("/store/namespaces", { prefix: [c.mark], limit: 100, offset: 0 });
    await post("/store/items/search", { namespace_prefix: [c.mark], limit: 100, offset: 0 });
  },
};
