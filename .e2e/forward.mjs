// The LangGraph SDK with task/step agents: the official JavaScript SDK agent
// and an AutoGPT-like one.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { until } from "./http.mjs";
// The functions with which the SDK's hooks read questions and write answers.
import { normalizeHitlInterruptPayload, normalizeHitlResponseForServer } from "@langchain/langgraph-sdk/ui";

const apiUrl = process.env.E2E_BRIDGE;
const options = { apiUrl, callerOptions: { maxRetries: 0 } };
const client = new Client(options);

const says = (content, more = {}) => ({ messages: [{ role: "user", content }], ...more });
const texts = (values) => values.messages.map((m) => m.content);
const types = (values) => values.messages.map((m) => m.type);

async function collect(stream) {
  const list = [];
  for await (const frame of stream) list.push(frame);
  return list;
}

const named = (frames, event) => frames.filter((f) => f.event === event).map((f) => f.data);

/** The HTTP status in an SDK error. */
async function status(promise) {
  try {
    await promise;
  } catch (err) {
    return err.status ?? Number(/HTTP (\d+)/.exec(err.message)?.[1]);
  }
  return 200;
}

const { threads, runs } = client;

describe("threads", () => {
  test("state and history tell every step, and a state update appends", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "jsagent", { input: says("history") });
    const history = await threads.getHistory(thread_id, { limit: 20 });
    assert.deepEqual(history.map((s) => s.metadata.step), [2, 1, 0, -1, -1], "newest first, from the root on");
    assert.deepEqual(history.map((s) => s.next.length), [0, 1, 1, 1, 1]);
    assert.equal(history[0].parent_checkpoint.checkpoint_id, history[1].checkpoint.checkpoint_id);
    assert.deepEqual(texts(history[3].values), ["history"]);
    const early = await threads.getState(thread_id, history[2].checkpoint.checkpoint_id);
    assert.deepEqual(early.values, history[2].values);

    const note = { messages: [{ type: "ai", id: "note-1", content: "a note" }] };
    await threads.updateState(thread_id, { values: note });
    await threads.updateState(thread_id, { values: { messages: [{ ...note.messages[0], content: "changed" }] } });
    const after = await threads.getState(thread_id);
    assert.deepEqual(texts(after.values).slice(-2), ["done", "changed"], "an equal id replaces, a new one appends");
  });
});

describe("runs before the JavaScript SDK agent", () => {
  test("wait gives messages and files of all steps", async () => {
    const { thread_id } = await threads.create();
    const values = await runs.wait(thread_id, "jsagent", { input: says("hello") });
    assert.deepEqual(types(values), ["human", "ai", "ai", "ai"]);
    assert.deepEqual(texts(values), ["hello", "asked: hello", "wrote result.txt", "done"]);
    assert.equal(values.files["/out/result.txt"].content, "result of hello");
    const thread = await threads.get(thread_id);
    assert.equal(thread.status, "idle");
    assert.deepEqual(thread.values, values);
  });

  test("a run without a thread works", async () => {
    const values = await runs.wait(null, "jsagent", { input: says("stateless") });
    assert.equal(texts(values).at(-1), "done");
  });

  test("the next run in a thread carries the conversation", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "jsagent", { input: says("my name is Ada") });
    const values = await runs.wait(thread_id, "jsagent", { input: says("what is my name?") });
    const prompt = texts(values)[5];
    assert.match(prompt, /Conversation so far:\n\nUser: my name is Ada\nAssistant: /);
    assert.match(prompt, /Current request:\nwhat is my name\?/);
  });

  test("files of the input reach the agent", async () => {
    const { thread_id } = await threads.create();
    const files = { "/notes.txt": { content: "remember", encoding: "utf-8", mimeType: "text/plain" } };
    const values = await runs.wait(thread_id, "jsagent", { input: says("look", { files }) });
    assert.match(texts(values)[1], /given: notes\.txt=remember/);
  });

  test("stream tells values and updates in order, and ends with the state", async () => {
    const { thread_id } = await threads.create();
    const frames = await collect(runs.stream(thread_id, "jsagent", {
      input: says("stream"), streamMode: ["values", "updates"],
    }));
    assert.deepEqual(frames.map((f) => f.event), [
      "metadata", "values", "updates", "values", "updates", "values", "updates", "values",
    ]);
    const nodes = named(frames, "updates").map((u) => Object.keys(u));
    assert.deepEqual(nodes, [["step"], ["step"], ["step"]]);
    const { values } = await threads.getState(thread_id);
    assert.deepEqual(named(frames, "values").at(-1), values);
    const run = await runs.get(thread_id, frames[0].data.run_id);
    assert.equal(run.status, "success");
    assert.ok(frames.every((f) => f.id), "every frame has an id");
  });

  test("messages-tuple, messages and custom carry each message once, with the state's ids", async () => {
    const { thread_id } = await threads.create();
    const frames = await collect(runs.stream(thread_id, "jsagent", {
      input: says("tokens"), streamMode: ["messages-tuple", "messages", "custom"],
    }));
    const { values } = await threads.getState(thread_id);
    const want = values.messages.filter((m) => m.type === "ai").map((m) => [m.id, m.content]);
    const tuples = named(frames, "messages");
    assert.deepEqual(tuples.map(([m]) => [m.id, m.content]), want.flatMap(([id, text]) => [[id, text], [id, ""]]), "each with an empty chunk behind it");
    assert.deepEqual([...new Set(tuples.map(([, meta]) => meta.langgraph_node))], ["step"]);
    assert.deepEqual(named(frames, "messages/complete").map(([m]) => [m.id, m.content]), want);
    assert.deepEqual(named(frames, "messages/metadata").map((m) => Object.keys(m)[0]), want.map(([id]) => id));
  });

  test("joinStream goes on exactly after the last event seen", async () => {
    const { thread_id } = await threads.create();
    const live = await collect(runs.stream(thread_id, "jsagent", {
      input: says("again"), streamMode: ["values", "updates"], streamResumable: true,
    }));
    const run = live[0].data.run_id;
    const streamMode = ["values", "updates"];
    assert.deepEqual(await collect(runs.joinStream(thread_id, run, { lastEventId: "-1", streamMode })), live);
    for (const at of [0, 3, live.length - 1]) {
      const rest = await collect(runs.joinStream(thread_id, run, { lastEventId: live[at].id, streamMode }));
      assert.deepEqual(rest, live.slice(at + 1), `after frame ${at}`);
    }
  });

  test("joinStream follows a run that is still going", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "jsagent", { input: says("slow 400"), streamMode: ["values"] });
    const frames = await collect(runs.joinStream(thread_id, run.run_id, { lastEventId: "-1", streamMode: ["values"] }));
    assert.equal(texts(frames.at(-1).data).at(-1), "done");
  });

  test("cancel stops a run and frees its thread", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "jsagent", { input: says("slow 2000") });
    await until("a running run", () => runs.get(thread_id, run.run_id), (r) => r.status === "running");
    await runs.cancel(thread_id, run.run_id, true);
    assert.equal((await runs.get(thread_id, run.run_id)).status, "interrupted");
    assert.equal((await threads.get(thread_id)).status, "idle");
    const values = await runs.wait(thread_id, "jsagent", { input: says("and now") });
    assert.equal(texts(values).at(-1), "done");
  });

  test("an agent that fails ends the run in error with its own words, and frees the thread", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "jsagent", { input: says("please fail") });
    const { __error__ } = await runs.join(thread_id, run.run_id);
    assert.equal(__error__.error, "upstream_error");
    const failed = await runs.get(thread_id, run.run_id);
    assert.equal(failed.status, "error");
    assert.match(failed.error, /failed on purpose/);
    assert.equal((await threads.get(thread_id)).status, "error");
    const values = await runs.wait(thread_id, "jsagent", { input: says("better now") });
    assert.equal(texts(values).at(-1), "done");
  });

  test("an agent that never ends is stopped by the caller's limit, not called a success", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "jsagent", { input: says("forever"), config: { recursion_limit: 4 } });
    const { __error__ } = await runs.join(thread_id, run.run_id);
    assert.equal(__error__.error, "step_limit");
    assert.equal((await runs.get(thread_id, run.run_id)).status, "error");
  });

  test("an agent that is away fails its runs with a code that says so", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "away", { input: says("anybody?") });
    const { __error__ } = await runs.join(thread_id, run.run_id);
    assert.equal(__error__.error, "upstream_unreachable");
    assert.match((await runs.get(thread_id, run.run_id)).error, /"away".*cannot be reached/);
  });
});

describe("people in the loop before the AutoGPT-like agent", () => {
  test("without a question the agent is driven to its end", async () => {
    const { thread_id } = await threads.create();
    const values = await runs.wait(thread_id, "autogpt", { input: says("write it") });
    assert.equal(values.files["/src/output.txt"].content, "write it");
    assert.equal(texts(values).at(-1), "All done", "is_last with status created is the end");
  });

  test("a question interrupts, the answer goes on", async () => {
    const { thread_id } = await threads.create();
    const asked = await runs.wait(thread_id, "autogpt", { input: says("ask about colours") });
    assert.deepEqual(Object.keys(asked), ["__interrupt__"]);
    const card = asked.__interrupt__[0].value;
    const [request] = card.action_requests; // the form that current pages read
    assert.deepEqual([request.name, request.args], ["ask_user", { question: "Which colour?", answer: "" }]);
    assert.deepEqual(card.review_configs[0].allowed_decisions, ["edit"]);
    assert.equal(card.action_request.action, "ask_user"); // and the form of last year
    assert.equal(card.config.allow_respond, true);
    const thread = await threads.get(thread_id);
    assert.equal(thread.status, "interrupted");
    const state = await threads.getState(thread_id);
    assert.deepEqual([state.next.length, state.tasks.length], [1, 1]);
    assert.equal(state.tasks[0].interrupts[0].id, asked.__interrupt__[0].id);
    assert.deepEqual(Object.keys(thread.interrupts), [state.tasks[0].id]);

    const values = await runs.wait(thread_id, "autogpt", { command: { resume: "blue" } });
    assert.match(values.files["/src/output.txt"].content, /\(blue\)/);
    assert.ok(texts(values).includes("blue"), "the answer is part of the conversation");
    assert.equal((await threads.get(thread_id)).status, "idle");
  });

  test("a stream tells the question in updates, then in values", async () => {
    const { thread_id } = await threads.create();
    const frames = await collect(runs.stream(thread_id, "autogpt", {
      input: says("ask again"), streamMode: ["values", "updates"],
    }));
    const last = frames.slice(-2).map((f) => [f.event, Object.keys(f.data)]);
    assert.deepEqual(last, [["updates", ["__interrupt__"]], ["values", ["__interrupt__"]]]);
  });

  test("with approval every command is proposed, and can be accepted or answered with other words", async () => {
    const { thread_id } = await threads.create();
    let asked = await runs.wait(thread_id, "careful", { input: says("write it") });
    assert.equal(asked.__interrupt__[0].value.action_requests[0].name, "write_to_file");
    asked = await runs.wait(thread_id, "careful", { command: { resume: [{ type: "response", args: "not yet" }] } });
    assert.ok(asked.__interrupt__, "feedback: the command was not run, it is proposed again");
    assert.equal(await status(runs.wait(thread_id, "careful", { command: { resume: null } })), 422, "nothing is no consent");
    const values = await runs.wait(thread_id, "careful", { command: { resume: { decisions: [{ type: "approve" }] } } });
    assert.equal(values.files["/src/output.txt"].content, "write it");
  });

  test("the SDK reads the question, and the answer of its card is the answer", async () => {
    const { thread_id } = await threads.create();
    const asked = await runs.wait(thread_id, "autogpt", { input: says("ask about colours") });
    const request = normalizeHitlInterruptPayload(asked.__interrupt__[0].value);
    assert.deepEqual(request.reviewConfigs[0].allowedDecisions, ["edit"]);
    const { name, args } = request.actionRequests[0];
    const resume = normalizeHitlResponseForServer({ decisions: [{ type: "edit", editedAction: { name, args: { ...args, answer: "blue" } } }] });
    const values = await runs.wait(thread_id, "autogpt", { command: { resume } });
    assert.match(values.files["/src/output.txt"].content, /\(blue\)/);
  });

  test("a message in the chat box answers the question, and keeps its id", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "autogpt", { input: says("ask about colours") });
    const id = crypto.randomUUID();
    const values = await runs.wait(thread_id, "autogpt", { input: { messages: [
      { type: "tool", id: `do-not-render-${crypto.randomUUID()}`, tool_call_id: "c", content: "Successfully handled tool call." },
      { type: "human", id, content: "blue" },
    ] } });
    assert.match(values.files["/src/output.txt"].content, /\(blue\)/);
    assert.equal(values.messages.find((m) => m.id === id).content, "blue");
  });

  test("goto the end drops the question", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "autogpt", { input: says("ask about colours") });
    await runs.wait(thread_id, "autogpt", { command: { goto: "__end__" } });
    const thread = await threads.get(thread_id);
    assert.deepEqual([thread.status, thread.interrupts], ["idle", {}]);
    assert.deepEqual((await threads.getState(thread_id)).next, []);
  });

  test("an answer to no question is refused", async () => {
    const { thread_id } = await threads.create();
    const got = await status(runs.wait(thread_id, "autogpt", { command: { resume: "blue" } }));
    assert.ok(got >= 400 && got < 500, `status ${got}`);
  });

  test("an agent that gets nowhere ends in error", async () => {
    const { thread_id } = await threads.create();
    const run = await runs.create(thread_id, "autogpt", { input: says("broken") });
    assert.ok((await runs.join(thread_id, run.run_id)).__error__);
    assert.equal((await runs.get(thread_id, run.run_id)).status, "error");
  });
});
