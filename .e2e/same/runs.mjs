// Runs: created, listed, waited for, joined and cancelled; concurrent ones on a thread; with and without a thread.
import { once } from "node:events";
import { createServer } from "node:http";
import { nobody, says, tried } from "./caller.mjs";

/** A thread with a run that has finished its first node and is executing the second. */
async function working({ thread, sdk, quiet, until }) {
  const id = await thread();
  const { run_id } = await sdk.runs.create(id, "slow", { input: says("6000") });
  await until("the second node", () => quiet.threads.getState(id), (state) => state.next[0] === "second", 60_000);
  return { id, run_id };
}

/** A thread with an active run and a second one created meanwhile; waits for both. */
async function twice(c, multitaskStrategy) {
  const { id, run_id: first } = await working(c);
  const second = await tried(c.sdk.runs.create(id, "slow", { input: says("30", 2), multitaskStrategy }));
  await c.status(id, second?.run_id ?? first, "success", "error", "interrupted");
  await tried(c.sdk.runs.get(id, first));
  if (second) await c.sdk.runs.get(id, second.run_id);
  await c.sdk.threads.getState(id);
}

export const runs = {
  "a run is made, read, listed and joined": async ({ thread, sdk, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "chat", { input: says("hi"), metadata: { k: "v" } });
    await status(id, run_id, "success");
    await sdk.runs.get(id, run_id);
    await sdk.runs.list(id);
    await sdk.runs.join(id, run_id);
  },
  "a run's fields are kept": async ({ thread, sdk }) => {
    const id = await thread({ metadata: { of: "the thread" } });
    await sdk.runs.create(id, "chat", {
      input: says("hi"), afterSeconds: 600, metadata: { of: "the run" }, streamMode: ["values", "custom"], streamSubgraphs: true, streamResumable: true,
      config: { tags: ["t"], recursion_limit: 7, configurable: { user: "ada" } }, context: { c: 1 }, interruptBefore: ["answer"], interruptAfter: "*", webhook: "http://127.0.0.1:9/hook",
      multitaskStrategy: "enqueue", feedbackKeys: ["up"],
    });
    await sdk.threads.get(id);
    await sdk.runs.create(await thread(), "chat", { command: { goto: "answer", update: { a: 1 } }, afterSeconds: 600 });
    await sdk.runs.create(await thread(), "chat", { afterSeconds: 600 });
  },
  "runs are listed in pages, by status, with some of their fields": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("one"));
    await sdk.runs.wait(id, "chat", { input: says("two", 2) });
    const { run_id } = await sdk.runs.create(id, "chat", { input: says("later", 3), afterSeconds: 600 });
    for (const options of [{}, { limit: 1 }, { limit: 1, offset: 1 }, { offset: 2 }, { status: "pending" }, { status: "error" }, { select: ["run_id", "status"] }]) await sdk.runs.list(id, options);
    await sdk.runs.delete(id, run_id);
    await sdk.runs.list(id);
    await call("GET", `/threads/${id}/runs?limit=no`);
  },
  "a run that is not there": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("hi"));
    await tried(sdk.runs.get(id, nobody));
    await tried(sdk.runs.cancel(id, nobody));
    await tried(sdk.runs.delete(id, nobody));
    await call("GET", `/threads/${id}/runs/no-uuid`);
  },
  "a run's fields are checked": async ({ thread, call }) => {
    const at = `/threads/${await thread()}/runs`;
    const chat = { assistant_id: "chat" };
    for (const body of [{}, { assistant_id: 7 }, { ...chat, stream_mode: "odd" }, { ...chat, stream_mode: ["values", "odd"] }, { ...chat, multitask_strategy: "odd" }, { ...chat, config: 7 },
      { ...chat, config: { recursion_limit: "x" } }, { ...chat, metadata: 7 }, { ...chat, command: 7 }, { ...chat, after_seconds: "x" }, { ...chat, if_not_exists: "odd" },
      { ...chat, on_disconnect: "odd" }, { ...chat, webhook: 7 }, { ...chat, checkpoint: 7 }, { ...chat, feedback_keys: 7 }]) await call("POST", at, body);
    for (const path of ["", "/wait", "/stream"]) {
      await call("POST", at + path, { assistant_id: "nobody", input: null });
      await call("POST", at + path, { assistant_id: nobody, input: null });
      await call("POST", at + path, "{");
    }
  },
  "nodes to stop at are listed by name": async ({ thread, call }) => {
    await call("POST", `/threads/${await thread()}/runs`, { assistant_id: "chat", input: says("hi"), interrupt_before: "odd" });
  },
  "a run is waited for": async ({ thread, sdk }) => {
    await sdk.runs.wait(await thread(), "chat", { input: says("hi") });
    await sdk.runs.wait(await thread(), "ask", { input: says("hi") });
    await sdk.runs.wait(await thread(), "both", { input: says("hi") });
    await tried(sdk.runs.wait(await thread(), "fail", { input: says("hi") }));
  },
  "a run that fails": async ({ thread, sdk, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "fail", { input: says("hi") });
    await status(id, run_id, "error");
    await sdk.runs.get(id, run_id);
    await sdk.threads.get(id);
    await sdk.threads.getHistory(id);
    await sdk.runs.wait(id, "chat", { input: says("better", 2) });
    await sdk.threads.get(id);
  },
  "a run that fails is joined while it works": async ({ thread, sdk }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "fail", { input: says("hi") });
    await tried(sdk.runs.join(id, run_id));
  },
  "a run that needs more steps than it may have": async ({ thread, sdk }) => {
    const id = await thread();
    await tried(sdk.runs.wait(id, "chat", { input: says("hi"), config: { recursion_limit: 1 } }));
    await sdk.threads.getState(id);
  },
  "runs without a thread": async ({ sdk, call }) => {
    await sdk.runs.wait(null, "chat", { input: says("hi") });
    await tried(sdk.runs.wait(null, "ask", { input: says("hi") }));
    await tried(sdk.runs.wait(null, "fail", { input: says("hi") }));
    await tried(sdk.runs.wait(null, "nobody", { input: says("hi") }));
    await call("POST", "/runs/stream", { assistant_id: "chat", input: says("hi"), stream_mode: ["updates"] });
  },
  "a run without a thread that is kept": async ({ sdk, status }) => {
    const { thread_id, run_id } = await sdk.runs.create(null, "chat", { input: says("hi"), onCompletion: "keep", metadata: { k: "v" } });
    await status(thread_id, run_id, "success");
    await sdk.runs.get(thread_id, run_id);
    await sdk.threads.get(thread_id);
    await sdk.threads.getState(thread_id);
  },
  "a run without a thread leaves none": async ({ sdk, quiet, until }) => {
    const { thread_id } = await sdk.runs.create(null, "chat", { input: says("hi"), onCompletion: "delete" });
    await until("no thread", () => quiet.threads.get(thread_id).catch(() => null), (t) => t === null);
    await tried(sdk.threads.get(thread_id));
  },
  "a batch": async ({ sdk, status, call }) => {
    await sdk.runs.createBatch([{ assistantId: "chat", input: says("hi") }]);
    const made = await call("POST", "/runs/batch", ["one", "two"].map((k) => ({ assistant_id: "chat", input: says(k), metadata: { k }, on_completion: "keep" })));
    for (const { thread_id, run_id } of made) {
      await status(thread_id, run_id, "success");
      await sdk.runs.join(thread_id, run_id);
    }
    await call("POST", "/runs/batch", []);
    await call("POST", "/runs/batch", [{ assistant_id: "nobody" }]);
    await call("POST", "/runs/batch", {});
  },
  "a run makes its thread": async ({ sdk }) => {
    const id = crypto.randomUUID();
    await sdk.runs.wait(id, "chat", { input: says("hi"), ifNotExists: "create", metadata: { k: "v" } });
    await sdk.threads.get(id);
    await tried(sdk.runs.create(crypto.randomUUID(), "chat", { input: says("hi"), ifNotExists: "reject" }));
  },
  "a run that begins later": async ({ thread, sdk, status }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "chat", { input: says("hi"), afterSeconds: 1 });
    await sdk.runs.get(id, run_id);
    await sdk.threads.get(id);
    await status(id, run_id, "success");
    await sdk.runs.get(id, run_id);
  },
  "a run is cancelled": async (c) => {
    const { sdk } = c;
    const { id, run_id } = await working(c);
    await sdk.runs.cancel(id, run_id, true);
    await sdk.runs.get(id, run_id);
    await sdk.threads.getState(id);
    await sdk.threads.get(id);
    await sdk.runs.wait(id, "slow", { input: says("30", 2) });
  },
  "a run is cancelled without waiting": async ({ thread, sdk, status, call }) => {
    const id = await thread();
    const { run_id } = await sdk.runs.create(id, "slow", { input: says("6000") });
    await status(id, run_id, "running");
    await call("POST", `/threads/${id}/runs/${run_id}/cancel?action=odd`);
    await call("POST", `/threads/${id}/runs/${run_id}/cancel`);
    await status(id, run_id, "interrupted");
    await tried(sdk.runs.cancel(id, run_id));
  },
  "a run that waits is cancelled": async ({ thread, sdk }) => {
    const id = await thread();
    for (const action of ["interrupt", "rollback"]) {
      const { run_id } = await sdk.runs.create(id, "chat", { input: says("hi"), afterSeconds: 600 });
      await sdk.runs.cancel(id, run_id, false, action);
      await tried(sdk.runs.get(id, run_id));
    }
    await sdk.threads.get(id);
  },
  "a run is deleted": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    const [{ run_id }] = await sdk.runs.list(id);
    await sdk.runs.delete(id, run_id);
    await sdk.runs.list(id);
    await tried(sdk.runs.get(id, run_id));
    await tried(sdk.runs.delete(id, run_id));
  },
  "a run is cancelled and taken back": async (c) => {
    const { id, run_id } = await working(c);
    await c.sdk.runs.cancel(id, run_id, true, "rollback");
    await tried(c.sdk.runs.get(id, run_id));
    await c.sdk.threads.getState(id);
  },
  ...Object.fromEntries(["reject", "enqueue", "interrupt", "rollback"].map((how) => [`a second run with ${how}`, (c) => twice(c, how)])),
  "a question is answered": async ({ ran, sdk }) => {
    const id = await ran("ask", says("hi"));
    await sdk.runs.wait(id, "ask", { command: { resume: [{ type: "edit", args: { to: "all" } }] } });
    await sdk.threads.get(id);
    await sdk.threads.getHistory(id);
  },
  "two questions are answered by their ids": async ({ ran, sdk }) => {
    const id = await ran("both", says("hi"));
    const { tasks } = await sdk.threads.getState(id);
    const asked = Object.fromEntries(tasks.map((t) => [t.name, t.interrupts[0].id]));
    await sdk.runs.wait(id, "both", { command: { resume: { [asked.colour]: "blue", [asked.days]: { days: 3 } } } });
    await sdk.threads.getState(id);
  },
  "a question is left by goto": async ({ ran, sdk }) => {
    const id = await ran("ask", says("hi"));
    await sdk.runs.wait(id, "ask", { command: { goto: "done" } });
    await sdk.threads.getState(id);
    await sdk.threads.get(id);
  },
  "a command updates the state": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await sdk.runs.wait(id, "chat", { command: { update: says("put in", 2) } });
    await sdk.threads.getState(id);
    await sdk.runs.wait(id, "chat", { command: { update: says("and told", 3), goto: "answer" } });
    await sdk.threads.getState(id);
  },
  "a command goes to a node with its own input": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await tried(sdk.runs.wait(id, "chat", { command: { goto: { node: "answer", input: { messages: [] } } } }));
    await sdk.threads.getState(id);
  },
  "an answer to no question": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"));
    await tried(sdk.runs.wait(id, "chat", { command: { resume: "blue" } }));
  },
  "a run stops before a node and goes on": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"), { interruptBefore: ["answer"] });
    await sdk.threads.get(id);
    await sdk.threads.getState(id);
    await sdk.runs.list(id);
    await sdk.runs.wait(id, "chat", { input: null });
    await sdk.threads.getHistory(id);
  },
  "a run stops after a node, is edited and goes on": async ({ ran, sdk }) => {
    const id = await ran("chat", says("hi"), { interruptAfter: ["plan"] });
    const { values } = await sdk.threads.getState(id);
    await sdk.threads.updateState(id, { values: { messages: [{ ...values.messages.at(-1), content: "changed" }] } });
    await sdk.threads.get(id);
    await sdk.runs.wait(id, "chat", { input: null });
    await sdk.threads.getHistory(id);
  },
  "a run stops at every node": async ({ ran, sdk, call }) => {
    const id = await ran("chat", says("hi"), { interruptBefore: "*" });
    await sdk.threads.getState(id);
    await call("POST", `/threads/${id}/runs/stream`, { assistant_id: "chat", input: null, interrupt_after: "*", stream_mode: ["values", "updates"] });
    await sdk.threads.getState(id);
  },
  "a run goes on from an earlier checkpoint": async ({ ran, sdk }) => {
    const id = await ran("chat", says("old"));
    await sdk.runs.wait(id, "chat", { input: says("regretted", 2) });
    const history = await sdk.threads.getHistory(id, { limit: 100 });
    const first = history.find((s) => s.next.length === 0 && s.values.messages.length === 3);
    await sdk.runs.wait(id, "chat", { input: says("instead", 3), checkpointId: first.checkpoint.checkpoint_id });
    await sdk.runs.wait(id, "chat", { input: null, checkpoint: history.find((s) => s.next[0] === "answer").checkpoint });
    await sdk.threads.getHistory(id, { limit: 100 });
  },
  "a run is told its config and context": async ({ thread, sdk }) => {
    const id = await thread({ metadata: { of: "the thread" } });
    await sdk.runs.wait(id, "told", { input: says("hi"), metadata: { of: "the run" }, config: { tags: ["t"], configurable: { user: "ada" } } });
    await sdk.runs.wait(id, "told", { input: says("hi"), context: { user: "bob" } });
  },
  "a run of a graph with types": async ({ thread, sdk, call }) => {
    const id = await thread();
    await sdk.runs.wait(id, "typed", { input: says("who"), context: { user: "ada" } });
    await sdk.threads.get(id);
    await sdk.threads.getState(id);
    await sdk.threads.updateState(id, { values: { answer: "none" } });
    await call("POST", `/threads/${id}/runs/stream`, { assistant_id: "typed", input: says("why", 2), stream_mode: ["values", "updates"] });
    await sdk.threads.getState(id);
    await tried(sdk.runs.wait(await thread(), "typed", { input: says("who"), context: { user: 7 } }));
    await tried(sdk.runs.wait(await thread(), "typed", { input: { messages: says("who").messages, answer: 7 } }));
  },
  "a swarm hands over and stays there": async ({ thread, sdk, call }) => {
    const id = await thread();
    await sdk.runs.wait(id, "swarm", { input: says("hello") });
    await call("POST", `/threads/${id}/runs/stream`, { assistant_id: "swarm", input: says("to bob", 2), stream_mode: ["values", "updates"] });
    await sdk.runs.wait(id, "swarm", { input: says("again", 3) });
    await sdk.threads.getState(id);
  },
  "a hook is called at the end": async ({ thread, sdk, calls }) => {
    const hooks = [];
    const server = createServer(async (req, res) => {
      let text = "";
      for await (const piece of req) text += piece;
      hooks.push(JSON.parse(text));
      res.end();
      server.emit("hook");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const webhook = `http://127.0.0.1:${server.address().port}/hook`;
      for (const [graph, raiseError] of [["chat", true], ["ask", true], ["fail", false]]) {
        const came = once(server, "hook");
        await sdk.runs.wait(await thread(), graph, { input: says("hi"), webhook, metadata: { k: "v" }, raiseError });
        await came;
        calls.push({ name: `hook of ${graph}`, status: 200, headers: {}, read: { body: hooks.pop() } });
      }
    } finally {
      server.close();
    }
  },
};
