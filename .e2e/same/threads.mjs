// Threads: created, read, changed, searched, copied and deleted.
import { nobody, says, tried } from "./caller.mjs";

export const threads = {
  "a thread is made": async ({ sdk }) => {
    const { thread_id } = await sdk.threads.create();
    await sdk.threads.get(thread_id);
    await sdk.threads.create({ metadata: { a: 1, deep: { b: [1, null] } }, graphId: "chat" });
  },
  "a thread is made with an id, once": async ({ sdk }) => {
    const threadId = crypto.randomUUID();
    await sdk.threads.create({ threadId, metadata: { first: true } });
    await tried(sdk.threads.create({ threadId }));
    await tried(sdk.threads.create({ threadId, ifExists: "raise" }));
    await sdk.threads.create({ threadId, ifExists: "do_nothing", metadata: { first: false } });
  },
  "a thread that is not there": async ({ sdk, call }) => {
    await tried(sdk.threads.get(nobody));
    await tried(sdk.threads.update(nobody, { metadata: {} }));
    await tried(sdk.threads.delete(nobody));
    await tried(sdk.threads.copy(nobody));
    await tried(sdk.threads.getState(nobody));
    await tried(sdk.threads.updateState(nobody, { values: {} }));
    await tried(sdk.threads.getHistory(nobody));
    await tried(sdk.runs.list(nobody));
    await tried(sdk.runs.get(nobody, nobody));
    await tried(sdk.runs.create(nobody, "chat", { input: says("hi") }));
    await tried(sdk.runs.wait(nobody, "chat", { input: says("hi") }));
    await tried(sdk.runs.join(nobody, nobody));
    await tried(sdk.runs.cancel(nobody, nobody));
    await call("GET", "/threads/no-uuid");
  },
  "a thread's fields are checked": async ({ sdk, call }) => {
    for (const body of [{ metadata: 7 }, { metadata: [] }, { thread_id: "mine" }, { if_exists: "maybe" }, { supersteps: {} }]) await call("POST", "/threads", body);
    await call("POST", "/threads", "{");
    await call("POST", "/threads", []);
    const { thread_id } = await sdk.threads.create();
    await call("PATCH", `/threads/${thread_id}`, {});
    await call("PATCH", `/threads/${thread_id}`, { metadata: "no" });
  },
  "metadata is merged at its top": async ({ sdk }) => {
    const { thread_id } = await sdk.threads.create({ metadata: { a: 1, deep: { x: 1, y: 2 } } });
    await sdk.threads.update(thread_id, { metadata: { b: null, deep: { x: 3 } } });
    await sdk.threads.get(thread_id);
  },
  "a thread after a run": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await sdk.threads.get(id);
  },
  "a thread that asks": async ({ ran, sdk }) => {
    const id = await ran("ask", says("hi"));
    await sdk.threads.get(id);
  },
  "a thread whose run failed": async ({ ran, sdk }) => {
    const id = await ran("fail", says("hi"));
    await sdk.threads.get(id);
    await sdk.threads.getState(id);
  },
  "threads are found by metadata": async ({ sdk, mark }) => {
    for (const n of [1, 2, 3]) await sdk.threads.create({ metadata: { mark, n, deep: { n, list: [n, "x"] } } });
    for (const metadata of [{ mark }, { mark, n: 2 }, { mark, deep: { n: 3 } }, { mark, deep: { list: [1, "x"] } }, { mark, n: "2" }, { mark, other: 1 }]) {
      await sdk.threads.search({ metadata });
      await sdk.threads.count({ metadata });
    }
  },
  "threads are found in pages and orders": async ({ sdk, mark }) => {
    for (const n of [1, 2, 3]) await sdk.threads.create({ threadId: `${`${n}`.repeat(8)}-${mark.slice(9)}`, metadata: { mark, n } });
    const search = (query) => sdk.threads.search({ metadata: { mark }, ...query });
    await search({ limit: 2 });
    await search({ limit: 2, offset: 2 });
    await search({ limit: 3 });
    await search({ offset: 7 });
    for (const sortBy of ["created_at", "updated_at", "thread_id"]) for (const sortOrder of ["asc", "desc"]) await search({ sortBy, sortOrder });
    await search({ sortBy: "status", sortOrder: "asc" });
    await search({ sortBy: "created_at" });
    await search({ sortOrder: "asc" });
  },
  "threads are found by status and values": async ({ sdk, quiet, mark }) => {
    const made = async (graph) => {
      const { thread_id } = await quiet.threads.create({ metadata: { mark } });
      await quiet.runs.wait(thread_id, graph, { input: says("hi"), raiseError: false });
      return thread_id;
    };
    for (const graph of ["chat", "ask", "fail"]) await made(graph);
    await quiet.threads.create({ metadata: { mark } });
    for (const status of ["idle", "busy", "interrupted", "error"]) {
      await sdk.threads.search({ metadata: { mark }, status });
      await sdk.threads.count({ metadata: { mark }, status });
    }
    const { messages: [{ id }] } = says("hi");
    for (const values of [{ messages: [{ id }] }, { other: 1 }]) await sdk.threads.search({ metadata: { mark, graph_id: "chat" }, values });
    await sdk.threads.count({ metadata: { mark, graph_id: "chat" }, values: { other: 1 } });
  },
  "threads are found by ids": async ({ sdk, mark }) => {
    const ids = [];
    for (const n of [1, 2, 3]) ids.push((await sdk.threads.create({ metadata: { mark, n } })).thread_id);
    await sdk.threads.search({ ids: ids.slice(1) });
    await sdk.threads.search({ ids: [ids[0], nobody] });
    await sdk.threads.search({ ids: ids.slice(1), metadata: { mark, n: 3 } });
  },
  "threads are found with some of their fields": async ({ sdk, ran }) => {
    const id = await ran("chat", says("hi"));
    for (const select of [["thread_id"], ["status", "metadata"], ["values", "interrupts"], ["config", "created_at", "updated_at"]]) await sdk.threads.search({ ids: [id], select });
  },
  "a search's fields are checked": async ({ call }) => {
    for (const body of [{ limit: 0 }, { limit: 1001 }, { offset: -1 }, { status: "odd" }, { sort_by: "odd" }, { sort_order: "odd" }, { ids: ["odd"] }, { metadata: 7 }, { values: 7 }, { select: "thread_id" }]) await call("POST", "/threads/search", body);
    for (const body of [{ status: "odd" }, { metadata: 7 }]) await call("POST", "/threads/count", body);
  },
  "a thread is copied with its past": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    const { thread_id } = await sdk.threads.copy(id);
    await sdk.threads.getState(thread_id);
    await sdk.threads.getHistory(thread_id);
    await sdk.runs.list(thread_id);
    await sdk.runs.wait(thread_id, "chat", { input: says("more", 2) });
    await sdk.threads.getState(id);
  },
  "a thread is deleted with its runs": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await sdk.threads.delete(id);
    await tried(sdk.threads.get(id));
    await tried(sdk.threads.getHistory(id));
    await tried(sdk.runs.list(id));
    await tried(sdk.threads.delete(id));
  },
};
