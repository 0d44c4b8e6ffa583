import assert from "node:assert/strict";
import { collect, isUUID, nobody, ranWell, recent, refuses } from "./checks.mjs";

export async function create(ctx) {
  const { threads } = ctx.sdk;
  const threadId = crypto.randomUUID();
  const made = await threads.create({ threadId, graphId: ctx.agent, metadata: { k: "v" }, ttl: 60 });
  assert.deepEqual([made.thread_id, made.status, made.metadata.k, made.metadata.graph_id], [threadId, "idle", "v", ctx.agent]);
  recent(made.created_at);
  await refuses(threads.create({ threadId }), 409, "thread_exists");
  assert.equal((await threads.create({ threadId, ifExists: "do_nothing" })).metadata.k, "v");

  const says = (type, content) => ({ messages: [{ type, content, id: crypto.randomUUID() }] });
  const told = await threads.create({ graphId: ctx.agent, supersteps: [
    { updates: [{ values: says("human", "first"), asNode: "__input__" }] },
    { updates: [{ values: says("ai", "second"), asNode: "step" }] },
  ] });
  const state = await threads.getState(told.thread_id);
  assert.deepEqual(state.values.messages.map((m) => m.content), ["first", "second"]);
  assert.equal((await threads.getHistory(told.thread_id)).length, 2, "a checkpoint for each superstep");
}

export async function get(ctx) {
  const thread = await ctx.sdk.threads.get(ctx.done.thread_id);
  assert.deepEqual([thread.thread_id, thread.status, thread.interrupts], [ctx.done.thread_id, "idle", {}]);
  assert.deepEqual(thread.values, ctx.values);
  ranWell(thread.values, ctx);
  const { assistant_id } = await ctx.sdk.assistants.get(ctx.agent);
  assert.deepEqual([thread.metadata.graph_id, thread.metadata.assistant_id], [ctx.agent, assistant_id], "the first run binds the thread");
  await refuses(ctx.sdk.threads.get(nobody), 404, "thread_not_found");
}

export async function copy(ctx) {
  const copied = await ctx.sdk.threads.copy(ctx.done.thread_id);
  isUUID(copied.thread_id);
  assert.notEqual(copied.thread_id, ctx.done.thread_id);
  assert.deepEqual([copied.status, copied.metadata.mark], ["idle", ctx.done.metadata.mark]);
  const [history, theirs] = await Promise.all([copied, ctx.done].map((t) => ctx.sdk.threads.getHistory(t.thread_id, { limit: 100 })));
  assert.deepEqual(history.map((s) => s.values), theirs.map((s) => s.values), "with all its past");
  assert.deepEqual(await ctx.sdk.runs.list(copied.thread_id), []);
  await refuses(ctx.sdk.threads.copy(nobody), 404, "thread_not_found");
}

export async function update(ctx) {
  const { thread_id } = await ctx.sdk.threads.create({ metadata: { a: 1, b: 1 } });
  const changed = await ctx.sdk.threads.update(thread_id, { metadata: { b: 2 }, ttl: { ttl: 30, strategy: "delete" } });
  if (changed) assert.deepEqual([changed.metadata.a, changed.metadata.b], [1, 2]);
  await ctx.sdk.threads.update(thread_id, { metadata: { c: 3 }, returnMinimal: true });
  const { metadata } = await ctx.sdk.threads.get(thread_id);
  assert.deepEqual([metadata.a, metadata.b, metadata.c], [1, 2, 3]);
  await refuses(ctx.sdk.threads.update(nobody, { metadata: {} }), 404, "thread_not_found");
}

async function deleteThread(ctx) {
  const { thread_id } = await ctx.sdk.threads.copy(ctx.done.thread_id);
  assert.ok((await ctx.sdk.threads.delete(thread_id)) == null);
  await refuses(ctx.sdk.threads.get(thread_id), 404, "thread_not_found");
  await refuses(ctx.sdk.threads.getHistory(thread_id), 404, "thread_not_found");
}
export { deleteThread as delete };

export async function prune(ctx) {
  const made = await Promise.all([1, 2].map(() => ctx.sdk.threads.create()));
  const ids = made.map((t) => t.thread_id);
  assert.deepEqual(await ctx.sdk.threads.prune([...ids, nobody]), { pruned_count: 2 });
  for (const id of ids) await refuses(ctx.sdk.threads.get(id), 404, "thread_not_found");
  const { thread_id } = await ctx.sdk.threads.copy(ctx.done.thread_id);
  const [newest, ...older] = await ctx.sdk.threads.getHistory(thread_id);
  assert.ok(older.length > 0);
  assert.deepEqual(await ctx.sdk.threads.prune([thread_id], { strategy: "keep_latest" }), { pruned_count: 1 });
  assert.deepEqual(await ctx.sdk.threads.getHistory(thread_id), [newest], "it still names what it came after");
}

export async function search(ctx) {
  const { threads } = ctx.sdk;
  const mark = crypto.randomUUID();
  const made = [];
  for (const n of [1, 2, 3]) made.push(await threads.create({ metadata: { mark, deep: { n } } }));
  const ids = made.map((t) => t.thread_id);
  const found = (query) => threads.search({ metadata: { mark }, ...query }).then((list) => list.map((t) => t.thread_id));
  assert.deepEqual(await found(), ids.toReversed(), "newest first");
  assert.deepEqual(await found({ sortBy: "created_at", sortOrder: "asc", limit: 2 }), ids.slice(0, 2));
  assert.deepEqual(await found({ sortBy: "created_at", sortOrder: "asc", limit: 2, offset: 2 }), ids.slice(2));
  assert.deepEqual(await found({ metadata: { mark, deep: { n: 2 } } }), [ids[1]], "by containment");
  assert.deepEqual(await found({ status: "busy" }), []);
  assert.deepEqual(await threads.search({ metadata: { mark }, select: ["thread_id"], limit: 1 }), [{ thread_id: ids[2] }]);
  assert.deepEqual(await found({ ids: [ids[0]] }), [ids[0]]);
  const done = await threads.search({ metadata: { mark: ctx.done.metadata.mark }, select: ["values"] });
  assert.ok(done.some((t) => t.values?.messages?.length === ctx.messages), "values are in what is found");
}

export async function count(ctx) {
  const mark = crypto.randomUUID();
  for (const n of [1, 2]) await ctx.sdk.threads.create({ metadata: { mark, n } });
  assert.equal(await ctx.sdk.threads.count({ metadata: { mark } }), 2);
  assert.equal(await ctx.sdk.threads.count({ metadata: { mark, n: 2 }, status: "idle" }), 1);
  assert.equal(await ctx.sdk.threads.count({ metadata: { mark }, status: "error" }), 0);
}

export async function getState(ctx) {
  const { threads } = ctx.sdk;
  const id = ctx.done.thread_id;
  const state = await threads.getState(id);
  ranWell(state.values, ctx);
  assert.deepEqual([state.next, state.tasks, state.checkpoint.thread_id, state.checkpoint.checkpoint_ns], [[], [], id, ""]);
  isUUID(state.checkpoint.checkpoint_id);
  recent(state.created_at);
  assert.deepEqual(await threads.getState(id, state.checkpoint.checkpoint_id), state);
  const before = await threads.getState(id, state.parent_checkpoint, { subgraphs: true });
  assert.deepEqual(before.checkpoint, state.parent_checkpoint);
  assert.ok(before.values.messages.length < state.values.messages.length && before.next.length === 1, "a checkpoint is as it was then");
  await refuses(threads.getState(id, nobody), 404, "checkpoint_not_found");
}

export async function updateState(ctx) {
  const { thread_id } = await ctx.sdk.threads.copy(ctx.done.thread_id);
  const before = await ctx.sdk.threads.getState(thread_id);
  const note = { type: "human", content: "a note", id: crypto.randomUUID() };
  const made = await ctx.sdk.threads.updateState(thread_id, { values: { messages: [note] } });
  const after = await ctx.sdk.threads.getState(thread_id);
  assert.equal(made.checkpoint.checkpoint_id, after.checkpoint.checkpoint_id);
  assert.deepEqual(after.parent_checkpoint, before.checkpoint);
  assert.equal(after.metadata.source, "update");
  assert.deepEqual([after.values.messages.length, after.values.messages.at(-1).id, after.values.messages.at(-1).content],
    [ctx.messages + 1, note.id, "a note"]);
  // Forked from the first: later changes are missing.
  await ctx.sdk.threads.updateState(thread_id, { values: { messages: [note] }, checkpointId: before.parent_checkpoint.checkpoint_id });
  const forked = await ctx.sdk.threads.getState(thread_id);
  assert.deepEqual(forked.parent_checkpoint, before.parent_checkpoint);
  assert.equal(forked.values.messages.length, ctx.messages, "one message fewer, and the note");
  await refuses(ctx.sdk.threads.updateState(nobody, { values: {} }), 404, "thread_not_found");
}

export async function getHistory(ctx) {
  const { threads } = ctx.sdk;
  const id = ctx.done.thread_id;
  const all = await threads.getHistory(id, { limit: 100 });
  assert.deepEqual(all[0].values, ctx.values, "newest first");
  for (const [i, state] of all.slice(0, -1).entries()) assert.deepEqual(state.parent_checkpoint, all[i + 1].checkpoint);
  assert.deepEqual(await threads.getHistory(id, { limit: 1 }), all.slice(0, 1));
  const configurable = { checkpoint_id: all[1].checkpoint.checkpoint_id };
  assert.deepEqual(await threads.getHistory(id, { before: { configurable } }), all.slice(2));
  assert.deepEqual(await threads.getHistory(id, { before: all[1].checkpoint }), all.slice(2), "or a checkpoint as it is in a state");
  const inputs = await threads.getHistory(id, { metadata: { source: "input" } });
  assert.deepEqual(inputs, all.filter((s) => s.metadata.source === "input"));
  assert.equal(inputs.length, 2, "the root, and the input");
}

/** Frames of a thread's stream, from its start until the ends of two runs. */
async function follow(ctx, thread_id, streamMode) {
  const leave = new AbortController();
  const frames = [];
  try {
    for await (const frame of ctx.sdk.threads.joinStream(thread_id, { lastEventId: "-1", streamMode, signal: leave.signal })) {
      frames.push(frame);
      if (told(frames, streamMode)) leave.abort(); // the stream itself never ends
    }
  } catch (err) {
    if (!leave.signal.aborted) throw err;
  }
  return frames;
}

function told(frames, streamMode) {
  if (streamMode === "state_update") return frames.at(-1).data.state.values.messages.at(-1).content === "told";
  return frames.filter((f) => f.data.status === "run_done").length === 2;
}

export async function joinStream(ctx) {
  const { threads, runs } = ctx.sdk;
  const { thread_id } = await threads.create();
  const streams = ["run_modes", "lifecycle", "state_update"].map((mode) => follow(ctx, thread_id, mode));
  for (const input of ["hello", "again"]) {
    const run = await runs.create(thread_id, ctx.agent, { input: ctx.says(input), streamMode: ["values", "updates"] });
    await runs.join(thread_id, run.run_id);
  }
  const { values } = await threads.getState(thread_id);
  await threads.updateState(thread_id, { values: { messages: [{ type: "human", content: "told" }] } });
  const [modes, lifecycle, states] = await Promise.all(streams);
  const named = (frames, name) => frames.filter((f) => f.event === name);
  assert.deepEqual(named(modes, "metadata").map((f) => f.data.status ?? f.data.attempt), [1, "run_done", 1, "run_done"], "open across both runs");
  assert.equal(named(modes, "updates").length, 2 * (ctx.updates ?? ctx.messages - 1), "in the modes of the runs");
  assert.deepEqual(named(modes, "values").at(-1).data, values);
  assert.deepEqual(lifecycle, named(modes, "metadata"), "without their frames");
  assert.deepEqual(states.map((f) => f.event), Array(3).fill("state_update"), "two runs and an update by hand");
  assert.deepEqual(states[1].data.state.values, values);
  await refuses(collect(threads.joinStream(nobody)), 404, "thread_not_found");
}

export async function stream(ctx) {
  const thread = ctx.sdk.threads.stream({ assistantId: ctx.agent });
  try {
    await thread.run.start({ input: ctx.says("hello") });
    const { messages } = await thread.output;
    assert.equal(messages.length, ctx.messages);
    assert.match(messages.at(-1).content, ctx.last);
    const { values } = await ctx.sdk.threads.getState(thread.threadId);
    assert.deepEqual(messages.map((m) => [m.id, m.content]), values.messages.map((m) => [m.id, m.content]));
  } finally {
    await thread.close();
  }
}
