import assert from "node:assert/strict";
import { collect, isUUID, nobody, ranWell, recent, refuses } from "./checks.mjs";

const later = { afterSeconds: 600 }; // stays pending for longer than a test

async function fresh(ctx, input = "hello", more = {}) {
  const { thread_id } = await ctx.sdk.threads.create();
  const run = await ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says(input), ...more });
  return { thread_id, run };
}

export async function stream(ctx) {
  const { thread_id } = await ctx.sdk.threads.create();
  let created;
  const frames = await collect(ctx.sdk.runs.stream(thread_id, ctx.agent, {
    input: ctx.says("hello"), streamMode: ["values", "updates"], onRunCreated: (run) => { created = run; },
  }));
  assert.equal(frames[0].event, "metadata");
  assert.deepEqual({ ...created }, { run_id: frames[0].data.run_id, thread_id });
  const named = (name) => frames.filter((f) => f.event === name).map((f) => f.data);
  assert.equal(named("updates").length, ctx.updates ?? ctx.messages - 1, "one update for each step");
  ranWell(named("values").at(-1), ctx);
  assert.deepEqual(named("values").at(-1), (await ctx.sdk.threads.getState(thread_id)).values);
  const alone = await collect(ctx.sdk.runs.stream(null, ctx.agent, { input: ctx.says("hello"), streamMode: "updates" }));
  assert.equal(alone.filter((f) => f.event === "updates").length, ctx.updates ?? ctx.messages - 1);
  await refuses(collect(ctx.sdk.runs.stream(thread_id, ctx.agent, { streamMode: "nonsense" })), 422, "invalid_request");
}

export async function create(ctx) {
  const { assistant_id } = await ctx.sdk.assistants.get(ctx.agent);
  let created;
  const { thread_id, run } = await fresh(ctx, "hello", {
    ...later, metadata: { k: "v" }, config: { tags: ["t"], configurable: { user: "ada" } }, onRunCreated: (r) => { created = r; },
  });
  isUUID(run.run_id);
  recent(run.created_at);
  assert.deepEqual([run.thread_id, run.assistant_id, run.status, run.metadata.k, run.multitask_strategy],
    [thread_id, assistant_id, "pending", "v", "enqueue"]);
  assert.deepEqual({ ...created }, { run_id: run.run_id, thread_id });
  assert.deepEqual(run.kwargs.input, ctx.says("hello"));
  assert.equal(run.kwargs.config.configurable.user, "ada");
  await refuses(ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says("hello"), multitaskStrategy: "reject" }), 409, "thread_busy");
  await refuses(ctx.sdk.runs.create(thread_id, "nobody", {}), 404, "agent_not_found");
  await refuses(ctx.sdk.runs.create(nobody, ctx.agent, { input: ctx.says("hello") }), 404, "thread_not_found");
  const id = crypto.randomUUID();
  const made = await ctx.sdk.runs.create(id, ctx.agent, { input: ctx.says("hello"), ifNotExists: "create", ...later });
  assert.equal(made.thread_id, id);
}

export async function createBatch(ctx) {
  const batch = ["one", "two"].map((k) => ({ assistantId: ctx.agent, input: ctx.says("hello"), metadata: { k }, onCompletion: "keep" }));
  const made = await ctx.sdk.runs.createBatch(batch);
  assert.deepEqual(made.map((r) => [r.status, r.metadata.k]), [["pending", "one"], ["pending", "two"]]);
  assert.notEqual(made[0].thread_id, made[1].thread_id);
  for (const run of made) ranWell(await ctx.sdk.runs.join(run.thread_id, run.run_id), ctx);
  await refuses(ctx.sdk.runs.createBatch([{ assistantId: ctx.agent, input: ctx.says("hello") }, { assistantId: ctx.agent, metadata: 7 }]), 422, "invalid_request");
}

export async function wait(ctx) {
  const { thread_id } = await ctx.sdk.threads.create();
  let created;
  const values = await ctx.sdk.runs.wait(thread_id, ctx.agent, { input: ctx.says("hello"), onRunCreated: (run) => { created = run; } });
  ranWell(values, ctx);
  assert.equal(created.thread_id, thread_id);
  assert.equal((await ctx.sdk.runs.get(thread_id, created.run_id)).status, "success");
  ranWell(await ctx.sdk.runs.wait(null, ctx.agent, { input: ctx.says("hello") }), ctx);
  await assert.rejects(ctx.sdk.runs.wait(null, "away", { input: ctx.says("hello") }), /upstream_unreachable/);
  const told = await ctx.sdk.runs.wait(null, "away", { input: ctx.says("hello"), raiseError: false });
  assert.equal(told.__error__.error, "upstream_unreachable");
}

export async function list(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", later);
  const second = await ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says("hello"), multitaskStrategy: "enqueue", ...later });
  const ids = async (options) => (await ctx.sdk.runs.list(thread_id, options)).map((r) => r.run_id);
  assert.deepEqual(await ids(), [second.run_id, run.run_id], "newest first");
  assert.deepEqual(await ids({ limit: 1 }), [second.run_id]);
  assert.deepEqual(await ids({ limit: 1, offset: 1 }), [run.run_id]);
  assert.deepEqual(await ids({ status: "pending" }), [second.run_id, run.run_id]);
  assert.deepEqual(await ids({ status: "success" }), []);
  const some = await ctx.sdk.runs.list(thread_id, { select: ["run_id", "status"] });
  assert.deepEqual(some[1], { run_id: run.run_id, status: "pending" });
  await refuses(ctx.sdk.runs.list(nobody), 404, "thread_not_found");
}

export async function get(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", later);
  assert.deepEqual(await ctx.sdk.runs.get(thread_id, run.run_id), run);
  await refuses(ctx.sdk.runs.get(thread_id, nobody), 404, "run_not_found");
  await refuses(ctx.sdk.runs.get(ctx.done.thread_id, run.run_id), 404, "run_not_found");
}

export async function cancel(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", later);
  assert.ok((await ctx.sdk.runs.cancel(thread_id, run.run_id, true)) == null);
  assert.equal((await ctx.sdk.runs.get(thread_id, run.run_id)).status, "interrupted");
  assert.equal((await ctx.sdk.threads.get(thread_id)).status, "idle");
  const again = await ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says("hello"), ...later });
  await ctx.sdk.runs.cancel(thread_id, again.run_id, true, "rollback");
  await refuses(ctx.sdk.runs.get(thread_id, again.run_id), 404, "run_not_found");
  await refuses(ctx.sdk.runs.cancel(thread_id, nobody), 404, "run_not_found");
}

export async function cancelMany(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", later);
  const second = await ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says("hello"), multitaskStrategy: "enqueue", ...later });
  await ctx.sdk.runs.cancelMany({ threadId: thread_id, runIds: [run.run_id, second.run_id] });
  for (const r of await ctx.sdk.runs.list(thread_id)) assert.equal(r.status, "interrupted");
  await refuses(ctx.sdk.runs.cancelMany({ threadId: thread_id }), 422, "invalid_request");
}

export async function join(ctx) {
  const { thread_id, run } = await fresh(ctx);
  ranWell(await ctx.sdk.runs.join(thread_id, run.run_id, { cancelOnDisconnect: false }), ctx);
  ranWell(await ctx.sdk.runs.join(thread_id, run.run_id), ctx);
  await refuses(ctx.sdk.runs.join(thread_id, nobody), 404, "run_not_found");
}

export async function joinStream(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", { streamResumable: true, streamMode: ["values", "updates"] });
  const options = { lastEventId: "-1", streamMode: ["values", "updates"] };
  const frames = await collect(ctx.sdk.runs.joinStream(thread_id, run.run_id, options));
  assert.deepEqual(frames[0].data, { run_id: run.run_id, attempt: 1 });
  ranWell(frames.filter((f) => f.event === "values").at(-1).data, ctx);
  assert.deepEqual(await collect(ctx.sdk.runs.joinStream(thread_id, run.run_id, { ...options, lastEventId: frames[2].id })), frames.slice(3));
  assert.deepEqual(await collect(ctx.sdk.runs.joinStream(null, run.run_id, options)), frames);
  assert.deepEqual(await collect(ctx.sdk.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" })), frames, "without modes: those it was made with");
  await refuses(collect(ctx.sdk.runs.joinStream(thread_id, nobody)), 404, "run_not_found");
}

async function deleteRun(ctx) {
  const { thread_id, run } = await fresh(ctx, "hello", later);
  assert.ok((await ctx.sdk.runs.delete(thread_id, run.run_id)) == null, "one that has not ended is ended");
  assert.equal((await ctx.sdk.threads.get(thread_id)).status, "idle");
  const second = await ctx.sdk.runs.create(thread_id, ctx.agent, { input: ctx.says("hello") });
  await ctx.sdk.runs.join(thread_id, second.run_id);
  await ctx.sdk.runs.delete(thread_id, second.run_id);
  assert.deepEqual(await ctx.sdk.runs.list(thread_id), []);
  for (const { run_id } of [run, second]) {
    await refuses(ctx.sdk.runs.get(thread_id, run_id), 404, "run_not_found");
    await refuses(ctx.sdk.runs.delete(thread_id, run_id), 404, "run_not_found");
  }
}
export { deleteRun as delete };
