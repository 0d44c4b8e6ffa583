// Streams of all kinds of graphs: every mode separately, all modes together; joined streams.
import { collect, nobody, says, tried } from "./caller.mjs";

const modes = ["values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints", "tools"];
const kinds = {
  "tokens": { graph: "chat" },
  "a question": { graph: "ask" },
  "a failure": { graph: "fail" },
  "a graph in a graph, from outside": { graph: "nested" },
  "a graph in a graph, with its subgraphs": { graph: "nested", stream_subgraphs: true },
};

/** Streams a run on a new thread; the ids in all modes are those of the history. */
const streamed = ({ graph, ...more }, stream_mode) => async ({ thread, call, sdk }) => {
  const id = await thread();
  await call("POST", `/threads/${id}/runs/stream`, { assistant_id: graph, input: says("hi"), stream_mode, ...more });
  if (stream_mode === modes) await sdk.threads.getHistory(id);
};

export const streams = {
  ...Object.fromEntries(Object.entries(kinds).flatMap(([what, kind]) => [...modes, modes].map((mode) => [`${what}: ${Array.isArray(mode) ? "all modes at once" : mode}`, streamed(kind, mode)]))),

  "a stream without a mode": async ({ thread, call }) => {
    await call("POST", `/threads/${await thread()}/runs/stream`, { assistant_id: "chat", input: says("hi") });
  },
  "an answer is streamed": async ({ ran, call }) => {
    const id = await ran("ask", says("hi"));
    await call("POST", `/threads/${id}/runs/stream`, { assistant_id: "ask", command: { resume: "yes" }, stream_mode: ["values", "updates", "tasks"] });
  },
  "a run that works is joined": async ({ thread, sdk, call, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "slow", { input: says("1500"), streamMode: ["values", "updates"], streamResumable: true });
    await status(id, run_id, "running");
    await call("GET", `/threads/${id}/runs/${run_id}/stream`, undefined, { "last-event-id": "-1" });
  },
  "a run that is over is joined from its start": async ({ thread, sdk, call, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "chat", { input: says("hi"), streamMode: ["values", "updates"], streamResumable: true });
    await status(id, run_id, "success");
    const at = `/threads/${id}/runs/${run_id}/stream`;
    const frames = await call("GET", at, undefined, { "last-event-id": "-1" });
    await call("GET", at, undefined, { "last-event-id": frames[2].id });
    await call("GET", `/runs/${run_id}/stream`, undefined, { "last-event-id": "-1" });
  },
  "a run that is over is joined without an event": async ({ thread, sdk, call, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "chat", { input: says("hi") });
    await status(id, run_id, "success");
    await call("GET", `/threads/${id}/runs/${run_id}/stream`);
  },
  "a stream is left, and its run goes on": async ({ thread, sdk, quiet, status }) => {
    const id = await thread();
    for (const [onDisconnect, wanted] of [["continue", "success"], ["cancel", "interrupted"]]) {
      const leave = new AbortController();
      const left = collect(quiet.runs.stream(id, "slow", { input: says("1500"), onDisconnect, signal: leave.signal, onRunCreated: () => setTimeout(() => leave.abort(), 300) }));
      await tried(left);
      const [{ run_id }] = (await quiet.runs.list(id, { limit: 100 })).sort((a, b) => b.created_at.localeCompare(a.created_at));
      await status(id, run_id, wanted);
      await sdk.runs.get(id, run_id);
    }
  },
  "streams that are refused": async ({ thread, call }) => {
    const id = await thread();
    await call("POST", `/threads/${id}/runs/stream`, { assistant_id: "chat", stream_mode: "odd" });
    await call("POST", `/threads/${nobody}/runs/stream`, { assistant_id: "chat", input: says("hi") });
    await call("GET", `/threads/${id}/runs/${nobody}/stream`);
  },
};
