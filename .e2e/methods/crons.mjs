import assert from "node:assert/strict";
import { isUUID, nobody, recent, refuses } from "./checks.mjs";

const yearly = "0 0 1 1 *"; // far in the future, so that none becomes due here

async function made(ctx, more = {}) {
  return ctx.sdk.crons.create(ctx.agent, { schedule: yearly, input: ctx.says("hello"), ...more });
}

export async function create(ctx) {
  const { assistant_id } = await ctx.sdk.assistants.get(ctx.agent);
  const cron = await made(ctx, { metadata: { k: "v" }, enabled: false, timezone: "Europe/Berlin" });
  isUUID(cron.cron_id);
  recent(cron.created_at);
  assert.deepEqual([cron.schedule, cron.assistant_id, cron.metadata.k, cron.enabled], [yearly, assistant_id, "v", false]);
  assert.equal(cron.timezone, "Europe/Berlin");
  assert.deepEqual(cron.payload.input, ctx.says("hello"));
  await ctx.sdk.crons.delete(cron.cron_id);
  await refuses(made(ctx, { schedule: "now and then" }), 422, "invalid_request");
}

export async function createForThread(ctx) {
  const { thread_id } = await ctx.sdk.threads.create();
  const cron = await ctx.sdk.crons.createForThread(thread_id, ctx.agent, { schedule: yearly, input: ctx.says("hello") });
  assert.equal(cron.thread_id, thread_id);
  const next = new Date(cron.next_run_date);
  assert.ok(next > new Date() && next.getUTCMonth() === 0 && next.getUTCDate() === 1, cron.next_run_date);
  await ctx.sdk.crons.delete(cron.cron_id);
  await refuses(ctx.sdk.crons.createForThread(nobody, ctx.agent, { schedule: yearly }), 404, "thread_not_found");
}

export async function update(ctx) {
  const cron = await made(ctx);
  const changed = await ctx.sdk.crons.update(cron.cron_id, { schedule: "0 12 * * *", enabled: false, metadata: { changed: true } });
  assert.deepEqual([changed.cron_id, changed.schedule, changed.enabled, changed.metadata.changed], [cron.cron_id, "0 12 * * *", false, true]);
  assert.deepEqual(changed.payload.input, ctx.says("hello"), "what is not named stays");
  await ctx.sdk.crons.delete(cron.cron_id);
  await refuses(ctx.sdk.crons.update(nobody, { enabled: false }), 404, "cron_not_found");
}

async function deleteCron(ctx) {
  const { cron_id } = await made(ctx);
  await ctx.sdk.crons.delete(cron_id);
  await refuses(ctx.sdk.crons.delete(cron_id), 404, "cron_not_found");
}
export { deleteCron as delete };

export async function search(ctx) {
  const { thread_id } = await ctx.sdk.threads.create();
  const cron = await ctx.sdk.crons.createForThread(thread_id, ctx.agent, { schedule: yearly });
  const mine = await ctx.sdk.crons.search({ assistantId: ctx.agent, threadId: thread_id });
  assert.deepEqual(mine.map((c) => [c.cron_id, c.thread_id]), [[cron.cron_id, thread_id]]);
  const some = await ctx.sdk.crons.search({ threadId: thread_id, sortBy: "next_run_date", sortOrder: "asc", select: ["cron_id", "schedule"] });
  assert.deepEqual(some, [{ cron_id: cron.cron_id, schedule: yearly }]);
  assert.deepEqual(await ctx.sdk.crons.search({ threadId: thread_id, offset: 1 }), []);
  await ctx.sdk.crons.delete(cron.cron_id);
}

export async function count(ctx) {
  const { thread_id } = await ctx.sdk.threads.create();
  assert.equal(await ctx.sdk.crons.count({ threadId: thread_id }), 0);
  const cron = await ctx.sdk.crons.createForThread(thread_id, ctx.agent, { schedule: yearly });
  assert.equal(await ctx.sdk.crons.count({ assistantId: ctx.agent, threadId: thread_id }), 1);
  await ctx.sdk.crons.delete(cron.cron_id);
}
