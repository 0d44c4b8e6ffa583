// Inner graphs: the same calls to the agent's own LangGraph server and through the bridge are compared member by member.
// Ids differ, but two places with the same id on one side must have the same id on the other.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { StreamController, messagesProjection } from "@langchain/langgraph-sdk/stream";
import { until } from "./http.mjs";

const options = { callerOptions: { maxRetries: 0 } };
const clients = [process.env.E2E_LANGGRAPH, process.env.E2E_BRIDGE].map((apiUrl) => new Client({ ...options, apiUrl }));
const says = (content) => ({ messages: [{ type: "human", content, id: "u1" }] });

/** The common metadata of both sides. The rest is specific to the server and the client. */
const facts = ["source", "step", "langgraph_step", "langgraph_node", "langgraph_path", "langgraph_triggers", "langgraph_checkpoint_ns", "checkpoint_ns"];

/** A value without times, with ids numbered in order of appearance. */
function comparable(value) {
  const ids = new Map();
  const named = (text) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b/g, (id) => ids.get(id) ?? ids.set(id, `#${ids.size}`).get(id));
  const walk = (v, key) => {
    if (typeof v === "string") return key === "created_at" ? "time" : named(v);
    if (v === null || typeof v !== "object") return v;
    if (Array.isArray(v)) return v.map((e) => walk(e));
    const members = Object.keys(v).filter((k) => key !== "metadata" || facts.includes(k)).sort();
    return Object.fromEntries(members.map((k) => [named(k), walk(v[k], k)]));
  };
  return walk(value);
}

/** A state without the bridge's additions at the top and without the names of the root, which differ. */
const state = ({ values, next, tasks }) => ({ values, next, tasks });

/** Sends both the same request and compares the responses. */
async function same(ask, pick = (v) => v) {
  const [want, got] = await Promise.all(clients.map(async (client) => comparable(pick(await ask(client)))));
  assert.deepEqual(got, want);
  return want;
}

/** Runs a graph up to its question on both sides and returns the thread of each client. */
async function asked(graph) {
  const threads = new Map();
  await Promise.all(clients.map(async (client) => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, graph, { input: says("hi") });
    threads.set(client, thread_id);
  }));
  return (client) => threads.get(client);
}

/** The task of a thread's newest state, and the inner task of that. */
const deepest = async (client, thread) => {
  const { tasks: [{ state: { checkpoint, tasks: [inner] } }] } = await client.threads.getState(thread, undefined, { subgraphs: true });
  return { middle: checkpoint, bottom: inner.state.checkpoint };
};

describe("states of inner graphs", { concurrency: 4 }, () => {
  test("the tasks of a state name the graphs that they are", async () => {
    const of = await asked("inner");
    const { tasks: [task] } = await same((c) => c.threads.getState(of(c)), state);
    assert.match(task.checkpoint.checkpoint_ns, /^middle:/);
  });

  test("with subgraphs they have the states of those, at every depth", async () => {
    const of = await asked("inner");
    const { tasks: [task] } = await same((c) => c.threads.getState(of(c), undefined, { subgraphs: true }), state);
    assert.equal(task.state.tasks[0].state.tasks[0].interrupts[0].value, "How deep?");
    await same(async (c) => {
      const { checkpoint } = await c.threads.getState(of(c));
      return c.threads.getState(of(c), checkpoint.checkpoint_id, { subgraphs: true });
    }, state);
  });

  test("a task's checkpoint can be read", async () => {
    const of = await asked("inner");
    await same(async (c) => c.threads.getState(of(c), (await c.threads.getState(of(c))).tasks[0].checkpoint));
    await same(async (c) => c.threads.getState(of(c), (await deepest(c, of(c))).bottom));
    await same((c) => c.threads.getState(of(c), { checkpoint_ns: "nowhere:1" }), state);
  });

  test("inner graphs have a history", async () => {
    const of = await asked("inner");
    const history = (point, more = {}) => same(async (c) => {
      const { checkpoint_ns } = (await deepest(c, of(c)))[point];
      return c.threads.getHistory(of(c), { checkpoint: { checkpoint_ns }, ...more });
    });
    assert.deepEqual((await history("bottom")).map((s) => s.metadata.step), [1, 0, -1]);
    assert.deepEqual((await history("middle", { limit: 1 })).map((s) => s.next), [["bottom"]]);
    assert.deepEqual((await history("bottom", { metadata: { step: 0 } })).map((s) => s.next), [["think"]]);
    await same(async (c) => {
      const { checkpoint_ns, checkpoint_id } = (await deepest(c, of(c))).bottom;
      return c.threads.getHistory(of(c), { checkpoint: { checkpoint_ns }, before: c === clients[0] ? checkpoint_id : { configurable: { checkpoint_id } } });
    });
    assert.deepEqual(await same((c) => c.threads.getHistory(of(c), { checkpoint: { checkpoint_ns: "nowhere:1" } })), []);
  });

  test("the history of the thread has the results of its tasks", async () => {
    const of = await asked("inner");
    await Promise.all(clients.map((c) => c.runs.wait(of(c), "inner", { command: { resume: "very" } })));
    // A run that answers a question reports once more where it continues, and the bridge logs that.
    const once = (list) => list.filter((s, i) => JSON.stringify([s.next, s.metadata.step]) !== JSON.stringify([list[i + 1]?.next, list[i + 1]?.metadata.step])).map(state);
    const list = await same((c) => c.threads.getHistory(of(c), { limit: 20 }), once);
    assert.equal(list[2].tasks[0].result.messages.at(-1).content, "3 messages, told: very");
  });

  test("an inner graph is changed, and the run goes on from there", async () => {
    const of = await asked("inner");
    const put = { messages: [{ type: "ai", content: "put inside", id: "put" }] };
    await same(async (c) => c.threads.updateState(of(c), { values: put, asNode: "think", checkpoint: { checkpoint_ns: (await deepest(c, of(c))).bottom.checkpoint_ns } }));
    await same((c) => c.threads.getState(of(c), undefined, { subgraphs: true }), state);
    const values = await same((c) => c.runs.wait(of(c), "inner", { command: { resume: "very" } }));
    assert.deepEqual(values.messages.map((m) => m.content).slice(-3), ["put inside", "4 messages, told: very", "at the top again"]);
  });
});

describe("the streaming protocol below the top graph", () => {
  for (const transport of ["sse", "websocket"]) {
    test(`a question is asked in its namespace, and answered there, ${transport}`, async () => {
      globalThis.WebSocket ??= (await import("ws")).WebSocket;
      await same(async (client) => {
        const stream = client.threads.stream({ assistantId: "inner", transport });
        try {
          await stream.run.start({ input: says("hi") });
          await stream.output;
          const [{ namespace, interruptId, payload }] = stream.interrupts;
          await stream.input.respond({ namespace, interrupt_id: interruptId, response: "very" });
          const last = await until("the end", () => client.threads.getState(stream.threadId), (s) => s.next.length === 0 && s.values.messages?.length > 1);
          return { namespace, payload, last: last.values.messages.at(-1).content };
        } finally {
          await stream.close();
        }
      });
    });
  }

  test("the cards of a deep agent's subagents are filled after a reload", async () => {
    await same(async (client) => {
      const { thread_id: threadId } = await client.threads.create();
      await client.runs.wait(threadId, "deep", { input: says("hi") });
      const page = new StreamController({ client, threadId, assistantId: "deep" });
      page.activate();
      try {
        await page.hydrate(threadId);
        const card = await until("a card", () => [...page.subagentStore.getSnapshot().values()][0], (c) => c && !c.namespace[0].includes("call_task"));
        const messages = page.registry.acquire(messagesProjection(card.namespace));
        const read = await until("its messages", () => messages.store.getSnapshot(), (list) => list.length > 0);
        messages.release();
        return { name: card.name, namespace: card.namespace, status: card.status, said: read.map((m) => [m.getType(), m.text]) };
      } finally {
        await page.dispose();
      }
    });
  });
});
