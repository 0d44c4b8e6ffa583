// States: reading, updating and returning to them; histories; supersteps.
import { nobody, says, tried } from "./caller.mjs";

const note = (content, n = 9) => ({ messages: [{ type: "ai", content, id: `${`${n}`.repeat(8)}-2222-4222-8222-222222222222` }] });

export const state = {
  "the state of an empty thread": async ({ thread, sdk }) => {
    for (const id of [await thread(), await thread({ graphId: "chat" })]) {
      await sdk.threads.getState(id);
      await sdk.threads.getHistory(id);
    }
  },
  "the state and the history of a run": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("hi"));
    await sdk.threads.getState(id);
    await sdk.threads.getHistory(id);
    await call("GET", `/threads/${id}/history`);
    await call("GET", `/threads/${id}/history?limit=2`);
  },
  "the state of a question": async ({ ran, sdk }) => {
    const id = await ran("ask", says("hi"));
    await sdk.threads.getState(id);
    await sdk.threads.getHistory(id);
  },
  "the state of two questions": async ({ ran, sdk }) => {
    await sdk.threads.getState(await ran("both", says("hi")));
  },
  "the state at a checkpoint": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("hi"));
    const history = await sdk.threads.getHistory(id);
    await sdk.threads.getState(id, history[1].checkpoint.checkpoint_id);
    await sdk.threads.getState(id, history[2].checkpoint);
    await tried(sdk.threads.getState(id, history.at(-1).checkpoint, { subgraphs: true }));
    await tried(sdk.threads.getState(id, nobody));
    await call("GET", `/threads/${id}/state/no-uuid`);
  },
  "parts of a history": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"), { metadata: { run: "first" } });
    await sdk.runs.wait(id, "chat", { input: says("more", 2), metadata: { run: "second" } });
    const history = await sdk.threads.getHistory(id, { limit: 100 });
    await sdk.threads.getHistory(id, { limit: 2 });
    await sdk.threads.getHistory(id, { limit: 2, before: history[1].checkpoint.checkpoint_id });
    await sdk.threads.getHistory(id, { checkpoint: { checkpoint_id: history[2].checkpoint.checkpoint_id } });
    await sdk.threads.getHistory(id, { metadata: { source: "input" } });
    await sdk.threads.getHistory(id, { metadata: { step: 1 } });
    await sdk.threads.getHistory(id, { metadata: { run: "second" } });
  },
  "a state is updated": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await sdk.threads.updateState(id, { values: note("a note") });
    await sdk.threads.getState(id);
    await sdk.threads.get(id);
    await sdk.threads.updateState(id, { values: note("another text") });
    await sdk.threads.getHistory(id);
  },
  "a state is updated as a node": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await sdk.threads.updateState(id, { values: note("as planned"), asNode: "plan" });
    await sdk.threads.getState(id);
    await sdk.threads.get(id);
    await sdk.runs.wait(id, "chat", { input: null });
    await sdk.threads.getHistory(id);
  },
  "an update without values as a node": async ({ ran, sdk }) => {
    const id = await ran("ask", says("hi"));
    await sdk.threads.updateState(id, { values: null, asNode: "ask" });
    await sdk.threads.getState(id);
    await sdk.runs.wait(id, "ask", { input: null });
  },
  "a state is updated from an earlier one": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    const history = await sdk.threads.getHistory(id);
    await sdk.threads.updateState(id, { values: note("instead"), checkpointId: history[1].checkpoint.checkpoint_id });
    await sdk.threads.getState(id);
    await sdk.threads.updateState(id, { values: note("again", 8), checkpoint: history[2].checkpoint, asNode: "plan" });
    await sdk.threads.getState(id);
    await sdk.threads.getHistory(id, { limit: 100 });
  },
  "updates that are refused": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("hi"));
    await tried(sdk.threads.updateState(id, { values: note("x"), asNode: "nobody" }));
    await tried(sdk.threads.updateState(id, { values: { unknown: 1 } }));
    await call("POST", `/threads/${id}/state`, { values: "text" });
    await call("POST", `/threads/${id}/state`, { values: {}, checkpoint_id: 7 });
  },
  "the state of a busy thread is not updated": async ({ thread, sdk, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "slow", { input: says("9000") });
    await status(id, run_id, "running");
    await tried(sdk.threads.updateState(id, { values: note("no") }));
    await sdk.runs.cancel(id, run_id, true);
  },
  "an update on a thread of a graph that never ran": async ({ thread, sdk }) => {
    const id = await thread({ graphId: "chat" });
    await sdk.threads.updateState(id, { values: says("first"), asNode: "__start__" });
    await sdk.threads.getState(id);
    await sdk.runs.wait(id, "chat", { input: null });
  },
  "a thread is made of supersteps": async ({ sdk, thread }) => {
    const supersteps = [
      { updates: [{ values: says("first"), asNode: "__input__" }] },
      { updates: [{ values: says("first"), asNode: "__start__" }] },
      { updates: [{ values: note("planned"), asNode: "plan" }] },
    ];
    const id = await thread({ graphId: "chat", supersteps });
    await sdk.threads.get(id);
    await sdk.threads.getState(id);
    await sdk.threads.getHistory(id);
    await sdk.runs.wait(id, "chat", { input: null });
    await sdk.threads.getHistory(id);
  },
  "a superstep with a command": async ({ sdk, thread }) => {
    for (const command of [{ update: note("by a command") }, { goto: "done" }]) {
      const id = await tried(thread({ graphId: "ask", supersteps: [
        { updates: [{ values: says("first"), asNode: "__input__" }] },
        { updates: [{ values: says("first"), asNode: "__start__" }] },
        { updates: [{ command, asNode: "prepare" }] },
      ] }));
      if (id) await sdk.threads.getState(id);
    }
  },
};
