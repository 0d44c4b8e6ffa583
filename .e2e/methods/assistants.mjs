import assert from "node:assert/strict";
import { isUUID, nobody, ranWell, refuses } from "./checks.mjs";

export async function get(ctx) {
  const byName = await ctx.sdk.assistants.get(ctx.agent);
  assert.deepEqual([byName.graph_id, byName.name, byName.version], [ctx.agent, ctx.agent, 1]);
  isUUID(byName.assistant_id);
  assert.deepEqual([byName.config, byName.context], [{}, {}]);
  assert.deepEqual(await ctx.sdk.assistants.get(byName.assistant_id), byName);
  await refuses(ctx.sdk.assistants.get("nobody"), 404, "agent_not_found");
}

export async function getGraph(ctx) {
  const graph = await ctx.sdk.assistants.getGraph(ctx.agent);
  assert.deepEqual(graph.nodes.map((node) => node.id).sort(), ["__end__", "__start__", "step"]);
  assert.ok(graph.edges.some((edge) => edge.source === "__start__" && edge.target === "step"));
  assert.deepEqual(await ctx.sdk.assistants.getGraph(ctx.agent, { xray: true }), graph);
}

export async function getSchemas(ctx) {
  const schemas = await ctx.sdk.assistants.getSchemas(ctx.agent);
  assert.equal(schemas.graph_id, ctx.agent);
  for (const name of ["input_schema", "output_schema", "state_schema"]) assert.ok(schemas[name].properties.messages, name);
  for (const name of ["config_schema", "context_schema"]) assert.equal(schemas[name].type, "object", name);
}

export async function getSubgraphs(ctx) {
  assert.deepEqual(await ctx.sdk.assistants.getSubgraphs(ctx.agent), {});
  assert.deepEqual(await ctx.sdk.assistants.getSubgraphs(ctx.agent, { namespace: "inner", recurse: true }), {});
}

export async function search(ctx) {
  const found = await ctx.sdk.assistants.search({ graphId: ctx.agent, metadata: { created_by: "system" } });
  assert.deepEqual(found.map((a) => a.name), [ctx.agent]);
  assert.deepEqual(await ctx.sdk.assistants.search({ graphId: ctx.agent, metadata: { created_by: "somebody" } }), []);
  const some = await ctx.sdk.assistants.search({ name: ctx.agent.toUpperCase(), graphId: ctx.agent, metadata: { created_by: "system" }, select: ["name"] });
  assert.deepEqual(some, [{ name: ctx.agent }], "a name is found by a part of it, whatever its case");
  const page = await ctx.sdk.assistants.search({ limit: 2, sortBy: "name", sortOrder: "asc", includePagination: true });
  assert.deepEqual([page.assistants.length, page.next], [2, "2"]);
}

export async function count(ctx) {
  const metadata = { created_by: "system" };
  assert.equal(await ctx.sdk.assistants.count({ graphId: ctx.agent, metadata }), 1);
  assert.equal(await ctx.sdk.assistants.count({ graphId: "nobody" }), 0);
  const all = await ctx.sdk.assistants.search({ limit: 1000, metadata });
  assert.equal(await ctx.sdk.assistants.count({ metadata }), all.length);
}

export async function getVersions(ctx) {
  const { assistant_id } = await ctx.sdk.assistants.get(ctx.agent);
  const versions = await ctx.sdk.assistants.getVersions(assistant_id);
  assert.deepEqual(versions.map((v) => [v.assistant_id, v.version, v.graph_id]), [[assistant_id, 1, ctx.agent]]);
  assert.deepEqual(await ctx.sdk.assistants.getVersions(assistant_id, { offset: 1 }), []);
}

export async function setLatest(ctx) {
  const { assistant_id } = await ctx.sdk.assistants.get(ctx.agent);
  assert.equal((await ctx.sdk.assistants.setLatest(assistant_id, 1)).version, 1);
  await refuses(ctx.sdk.assistants.setLatest(assistant_id, 7), 404, "version_not_found");
}

/** Creates an assistant of the caller for the agent; each call creates another one. */
function made(ctx, more = {}) {
  return ctx.sdk.assistants.create({ graphId: ctx.agent, name: `my ${ctx.agent}`, metadata: { mark: crypto.randomUUID() }, ...more });
}

export async function create(ctx) {
  const { assistants, runs, threads } = ctx.sdk;
  const assistantId = crypto.randomUUID();
  const config = { tags: ["t"], configurable: { user: "ada" } };
  const mine = await made(ctx, { assistantId, config, description: "what it is for" });
  assert.deepEqual([mine.assistant_id, mine.graph_id, mine.name, mine.description, mine.version, mine.config],
    [assistantId, ctx.agent, `my ${ctx.agent}`, "what it is for", 1, config]);
  assert.deepEqual(await assistants.get(assistantId), mine);
  assert.deepEqual((await assistants.search({ metadata: mine.metadata })).map((a) => a.assistant_id), [assistantId]);
  await refuses(made(ctx, { assistantId }), 409, "assistant_exists");
  assert.deepEqual(await made(ctx, { assistantId, ifExists: "do_nothing" }), mine);
  await refuses(made(ctx, { graphId: "nobody" }), 404, "agent_not_found");
  const { thread_id } = await threads.create();
  const run = await runs.create(thread_id, assistantId, { input: ctx.says("hello") });
  assert.deepEqual([run.assistant_id, run.metadata.mark], [assistantId, mine.metadata.mark]);
  ranWell(await runs.join(thread_id, run.run_id), ctx);
}

export async function update(ctx) {
  const { assistants } = ctx.sdk;
  const { assistant_id, metadata } = await made(ctx);
  const second = await assistants.update(assistant_id, { name: "renamed", metadata: { more: 1 }, context: { c: 1 } });
  assert.deepEqual([second.version, second.name, second.graph_id, second.context], [2, "renamed", ctx.agent, { c: 1 }]);
  assert.deepEqual(second.metadata, { ...second.metadata, ...metadata, more: 1 }, "metadata is merged");
  const versions = await assistants.getVersions(assistant_id);
  assert.deepEqual(versions.map((v) => [v.version, v.name]), [[2, "renamed"], [1, `my ${ctx.agent}`]], "newest first");
  assert.equal((await assistants.setLatest(assistant_id, 1)).name, `my ${ctx.agent}`);
  assert.equal((await assistants.get(assistant_id)).version, 1);
  await refuses(assistants.update(ctx.agent, { name: "mine now" }), 422, "not_supported");
  await refuses(assistants.update(nobody, { name: "x" }), 404, "agent_not_found");
}

async function deleteAssistant(ctx) {
  const { assistants } = ctx.sdk;
  const { assistant_id } = await made(ctx);
  assert.ok((await assistants.delete(assistant_id)) == null);
  await refuses(assistants.get(assistant_id), 404, "agent_not_found");
  await refuses(assistants.delete(assistant_id), 404, "agent_not_found");
  await refuses(assistants.delete(ctx.agent), 422, "not_supported");
}
export { deleteAssistant as delete };
