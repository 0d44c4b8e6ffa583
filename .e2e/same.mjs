// The same dialect on both sides, through the same path: nothing of what the
// dialect can say may be lost.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { Harness } from "./benchmark.mjs";
import { until } from "./http.mjs";
import { skip, suite } from "./newman.mjs";

const bridge = process.env.E2E_BRIDGE;
const before = (agent) => new Harness(`${bridge}/agents/${agent}`);
const says = (content) => ({ messages: [{ role: "user", content }] });

describe("tasks and steps before a task/step agent", () => {
  test("a harness drives the JavaScript SDK agent in lockstep", async () => {
    const harness = before("jsagent");
    const task = await harness.create("write Washington");
    await harness.upload(task.task_id, "in.txt", "given");
    const steps = await harness.drive(task.task_id);
    assert.deepEqual(steps.map((s) => [s.name, s.output, s.is_last]), [
      ["think", "asked: write Washington given: in.txt=given", false],
      ["write", "wrote result.txt", false],
      ["finish", "done", true],
    ]);
    const files = await harness.download(task.task_id);
    assert.equal(files.get("out/result.txt"), "result of write Washington");
    assert.deepEqual((await harness.get(task.task_id, "/steps")).steps, steps, "the agent cannot list its steps, the bridge can");
  });

  test("a step's words reach the agent verbatim", async () => {
    const harness = before("jsagent");
    const { task_id } = await harness.create("listen");
    await harness.step(task_id);
    await harness.step(task_id);
    const last = await harness.step(task_id, { input: "y, and more" });
    assert.equal(last.output, "done, you said y, and more");
  });

  test("an AutoGPT-like agent is approved, asked and ended step by step", async () => {
    const harness = before("autogpt");
    const { task_id } = await harness.create("ask about colours");
    const question = await harness.step(task_id);
    assert.deepEqual([question.output, question.is_last], ["On it.\n\nWhich colour?", false]);
    await harness.step(task_id, { input: "blue" });
    const rest = await harness.drive(task_id);
    const last = rest.at(-1);
    assert.deepEqual([last.output, last.is_last, last.status], ["All done", true, "completed"]);
    const files = await harness.download(task_id);
    assert.match(files.get("src/output.txt"), /\(blue\)/);
  });

  test("an agent that breaks ends its task with the error, never with a 5xx", async () => {
    const harness = before("jsagent");
    const { task_id } = await harness.create("please fail");
    const last = (await harness.drive(task_id)).at(-1);
    assert.match(last.additional_output.error.message, /failed on purpose/);
  });

  for (const agent of ["jsagent", "autogpt"]) {
    test(`the official Postman suite passes before ${agent}`, { skip }, async () => {
      const { total, failures } = await suite(`${bridge}/agents/${agent}`);
      assert.deepEqual(failures, []);
      assert.equal(total, 27);
    });
  }
});

const options = { callerOptions: { maxRetries: 0 } };
const ours = new Client({ ...options, apiUrl: bridge });
const direct = new Client({ ...options, apiUrl: process.env.E2E_LANGGRAPH });
const { threads, runs } = ours;

const collect = async (stream) => {
  const list = [];
  for await (const frame of stream) list.push(frame);
  return list;
};

describe("threads and runs before a LangGraph server", () => {
  test("a stream is told as the server itself tells it", async () => {
    const streamMode = ["values", "updates", "messages-tuple", "custom"];
    const shape = async (client) => {
      const { thread_id } = await client.threads.create();
      const frames = await collect(client.runs.stream(thread_id, "chat", { input: says("compare"), streamMode }));
      return frames.map(({ event, data }) => {
        if (event === "updates") return [event, Object.keys(data)];
        if (event === "values") return [event, data.messages.map((m) => [m.type, m.content])];
        if (event === "messages") return [event, data[0].content];
        return event === "metadata" ? [event] : [event, data];
      });
    };
    assert.deepEqual(await shape(ours), await shape(direct));
  });

  test("tokens add up to the message of the state, under one id", async () => {
    const { thread_id } = await threads.create();
    const frames = await collect(runs.stream(thread_id, "chat", { input: says("add up"), streamMode: ["messages-tuple"] }));
    const whole = new Map();
    for (const { event, data } of frames) {
      if (event === "messages") whole.set(data[0].id, (whole.get(data[0].id) ?? "") + data[0].content);
    }
    const { values } = await threads.getState(thread_id);
    const said = values.messages.filter((m) => m.type === "ai").map((m) => [m.id, m.content]);
    assert.deepEqual([...whole], said);
  });

  test("the conversation goes on in the agent's own state", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "chat", { input: says("one") });
    const values = await runs.wait(thread_id, "chat", { input: says("two") });
    assert.deepEqual(values.messages.map((m) => m.content), ["one", "planning", "you said: one", "two", "planning", "you said: two"]);
    const history = await threads.getHistory(thread_id, { limit: 50 });
    assert.deepEqual(history[0].values, values);
    assert.ok(history.length >= 6, `history of ${history.length}`);
  });

  test("a question crosses as it is, and so does the answer", async () => {
    const { thread_id } = await threads.create();
    const asked = await runs.wait(thread_id, "ask", { input: says("mail") });
    assert.equal(asked.__interrupt__[0].value[0].description, "Send this mail?");
    const state = await threads.getState(thread_id);
    assert.deepEqual([state.next, state.tasks[0].name], [["ask"], "ask"]);
    const values = await runs.wait(thread_id, "ask", { command: { resume: [{ type: "edit", args: { to: "all" } }] } });
    assert.match(values.messages.at(-2).content, /"type":"edit".*"to":"all"/);
    assert.equal((await threads.get(thread_id)).status, "idle");
  });

  test("a state update passes the agent's own reducers, and the next run builds on it", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "chat", { input: says("first") });
    await threads.updateState(thread_id, { values: { messages: [{ type: "human", id: "u1", content: "put in" }] } });
    const values = await runs.wait(thread_id, "chat", { input: says("second") });
    const said = values.messages.map((m) => m.content);
    assert.equal(said.filter((c) => c === "put in").length, 1);
    assert.equal(said.at(-1), "you said: second");
  });

  test("a run from an earlier checkpoint forks the conversation", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "chat", { input: says("old") });
    const [first] = await threads.getHistory(thread_id, { limit: 1 });
    await runs.wait(thread_id, "chat", { input: says("regretted") });
    const values = await runs.wait(thread_id, "chat", {
      input: says("instead"), checkpointId: first.checkpoint.checkpoint_id,
    });
    assert.deepEqual(values.messages.map((m) => m.content), ["old", "planning", "you said: old", "instead", "planning", "you said: instead"]);
  });

  test("cancel reaches the server and frees the thread", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "slow", { input: says("6000") });
    await until("a running run", () => runs.get(thread_id, run.run_id), (r) => r.status === "running");
    await runs.cancel(thread_id, run.run_id, true);
    assert.equal((await runs.get(thread_id, run.run_id)).status, "interrupted");
    const values = await runs.wait(thread_id, "slow", { input: says("30") });
    assert.equal(values.messages.at(-1).content, "third done");
  });

  test("an exception is a failed run with the agent's words", async () => {
    const { thread_id } = await threads.create();
    const frames = await collect(runs.stream(thread_id, "fail", { input: says("go"), streamMode: ["updates"] }));
    assert.equal(frames.at(-1).event, "error");
    assert.match(frames.at(-1).data.message, /failed on purpose/);
    assert.equal((await threads.get(thread_id)).status, "error");
  });

  test("ids in every mode are the bridge's own, and can be handed back", async () => {
    const { thread_id } = await threads.create();
    const streamMode = ["values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints"];
    const told = { thread_id: new Set([thread_id]), run_id: new Set(), assistant_id: new Set(), checkpoint_id: new Set() };
    const note = (data) => JSON.stringify(data, (key, value) => (typeof value === "string" && told[key]?.add(value), value));
    for (const input of [says("one"), says("two")]) {
      for (const { event, data } of await collect(runs.stream(thread_id, "nested", { input, streamMode, streamSubgraphs: true }))) {
        if (event !== "events" || data.name === "LangGraph" && !data.metadata.langgraph_node) note(data);
        else note(data.metadata); // runs of single nodes have ids of their own
      }
    }
    const own = await runs.list(thread_id);
    assert.deepEqual([...told.run_id].sort(), own.map((r) => r.run_id).sort());
    assert.deepEqual([...told.thread_id], [thread_id]);
    assert.deepEqual([...told.assistant_id], [own[0].assistant_id]);
    const rooted = [...told.checkpoint_id];
    const history = await threads.getHistory(thread_id, { limit: 100 });
    for (const { checkpoint } of history) assert.ok(rooted.includes(checkpoint.checkpoint_id));
  });

  test("a joined stream replays exactly what was streamed", async () => {
    const { thread_id } = await threads.create();
    const streamMode = ["values", "messages-tuple"];
    const live = await collect(runs.stream(thread_id, "chat", { input: says("replay"), streamMode }));
    const again = await collect(runs.joinStream(thread_id, live[0].data.run_id, { lastEventId: live[4].id, streamMode }));
    assert.deepEqual(again, live.slice(5));
  });
});
