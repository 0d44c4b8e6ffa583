// Assistants, and the server's information about itself.
import { nobody, says, tried } from "./caller.mjs";

const drawn = ["chat", "ask", "fail", "both", "nested"];

export const assistants = {
  "a graph's own assistant": async ({ sdk }) => {
    const { assistant_id } = await sdk.assistants.get("chat");
    await sdk.assistants.get(assistant_id);
    await sdk.assistants.search({ graphId: "chat", metadata: { created_by: "system" } });
    await sdk.assistants.getVersions(assistant_id);
    await tried(sdk.assistants.setLatest(assistant_id, 1));
  },
  "an assistant that is not there": async ({ sdk }) => {
    for (const id of ["nobody", nobody]) {
      await tried(sdk.assistants.get(id));
      await tried(sdk.assistants.update(id, { name: "x" }));
      await tried(sdk.assistants.delete(id));
      await tried(sdk.assistants.getGraph(id));
      await tried(sdk.assistants.getSchemas(id));
      await tried(sdk.assistants.getSubgraphs(id));
      await tried(sdk.assistants.getVersions(id));
      await tried(sdk.assistants.setLatest(id, 1));
    }
    await tried(sdk.assistants.create({ graphId: "nobody" }));
  },
  "an assistant is made": async ({ sdk, mark }) => {
    const assistantId = crypto.randomUUID();
    const config = { tags: ["t"], recursion_limit: 9, configurable: { user: "ada" } };
    await sdk.assistants.create({ graphId: "chat", assistantId, name: "mine", description: "what for", metadata: { mark }, config, context: { c: 1 } });
    await sdk.assistants.get(assistantId);
    await tried(sdk.assistants.create({ graphId: "chat", assistantId }));
    await sdk.assistants.create({ graphId: "chat", assistantId, ifExists: "do_nothing", name: "other" });
    await sdk.assistants.create({ graphId: "chat" });
  },
  "an assistant is changed, and its versions kept": async ({ sdk, mark }) => {
    const { assistant_id } = await sdk.assistants.create({ graphId: "chat", name: "first", metadata: { mark, a: 1 } });
    await sdk.assistants.update(assistant_id, { name: "second", metadata: { b: 2 }, config: { configurable: { user: "bob" } } });
    await sdk.assistants.update(assistant_id, { graphId: "ask", context: { c: 1 }, description: "now" });
    await sdk.assistants.getVersions(assistant_id);
    await sdk.assistants.getVersions(assistant_id, { limit: 1, offset: 1 });
    await sdk.assistants.getVersions(assistant_id, { metadata: { b: 2 } });
    await sdk.assistants.setLatest(assistant_id, 1);
    await sdk.assistants.get(assistant_id);
    await tried(sdk.assistants.setLatest(assistant_id, 9));
    await sdk.assistants.update(assistant_id, { name: "fourth" });
    await sdk.assistants.getVersions(assistant_id);
  },
  "an assistant is deleted": async ({ sdk }) => {
    const { assistant_id } = await sdk.assistants.create({ graphId: "chat" });
    await sdk.assistants.delete(assistant_id);
    await tried(sdk.assistants.get(assistant_id));
    await tried(sdk.assistants.delete(assistant_id));
  },
  "an assistant is deleted with its threads": async ({ sdk, thread }) => {
    const { assistant_id } = await sdk.assistants.create({ graphId: "chat" });
    const id = await thread();
    await sdk.runs.wait(id, assistant_id, { input: says("hi") });
    await sdk.assistants.delete(assistant_id, { deleteThreads: true });
    await tried(sdk.threads.get(id));
  },
  "assistants are found, counted and listed in pages": async ({ sdk, mark }) => {
    for (const name of ["Ada", "Bob", "Adam"]) await sdk.assistants.create({ graphId: "chat", name, metadata: { mark, name, deep: { name } } });
    for (const query of [{}, { name: "ada" }, { metadata: { mark, deep: { name: "Bob" } } }, { graphId: "ask" }, { limit: 2 }, { limit: 2, offset: 2 }, { limit: 3 }, { select: ["name", "version"] }]) {
      await sdk.assistants.search({ metadata: { mark }, graphId: "chat", ...query });
    }
    await sdk.assistants.search({ metadata: { mark }, sortBy: "name", sortOrder: "asc", includePagination: true });
    await sdk.assistants.count({ metadata: { mark } });
    await sdk.assistants.count({ metadata: { mark }, name: "ada", graphId: "chat" });
    await sdk.assistants.count({ graphId: mark });
  },
  "an assistant's fields are checked": async ({ call }) => {
    for (const body of [{}, { graph_id: 7 }, { graph_id: "chat", assistant_id: "mine" }, { graph_id: "chat", config: 7 }, { graph_id: "chat", metadata: 7 }, { graph_id: "chat", if_exists: "odd" }, { graph_id: "chat", name: 7 }]) await call("POST", "/assistants", body);
    for (const body of [{ limit: 0 }, { sort_by: "odd" }, { metadata: 7 }, { select: 7 }]) await call("POST", "/assistants/search", body);
  },
  "an assistant's own config reaches its runs": async ({ sdk, thread }) => {
    const { assistant_id } = await sdk.assistants.create({ graphId: "told", metadata: { of: "the assistant" }, config: { tags: ["a"], configurable: { user: "ada", team: "x" } } });
    const id = await thread();
    await sdk.runs.wait(id, assistant_id, { input: says("hi"), config: { configurable: { user: "bob" } } });
    await sdk.runs.list(id);
    await sdk.threads.get(id);
    const other = await sdk.assistants.create({ graphId: "told", context: { user: "ada", team: "x" } });
    await sdk.runs.wait(await thread(), other.assistant_id, { input: says("hi"), context: { user: "bob" } });
  },
  "graphs are drawn": async ({ sdk }) => {
    for (const graph of drawn) await sdk.assistants.getGraph(graph);
    await sdk.assistants.getGraph("nested", { xray: true });
    await sdk.assistants.getGraph("nested", { xray: 1 });
  },
  "a graph's schemas and subgraphs": async ({ sdk }) => {
    await sdk.assistants.getSchemas("typed");
    for (const options of [{}, { recurse: true }, { namespace: "inside" }, { namespace: "nothing" }]) await sdk.assistants.getSubgraphs("typed", options);
    await sdk.assistants.getSubgraphs("told");
  },
  "a server says what it is": async ({ call }) => {
    await call("GET", "/ok");
    await call("GET", "/info");
    await call("GET", "/nothing");
    await call("PUT", "/threads");
  },
};
