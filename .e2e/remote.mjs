// RemoteGraph of the JavaScript package, which leaves its stream at the frame
// with a question and answers at once, with a LangGraph server and with a
// task/step agent. Also the same requests without the SDK and without the pause that
// the package needs to close its stream.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Command, MessagesAnnotation, START, END, MemorySaver, StateGraph, isGraphInterrupt } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { call } from "./http.mjs";

const url = process.env.E2E_BRIDGE;
const rounds = 10;
const agents = {
  "a LangGraph server": { agent: "ask", input: "hi", answer: [{ type: "accept", args: null }], says: "done" },
  "a task/step agent": { agent: "autogpt", input: "ask about colours", answer: "blue", says: "All done" },
};
const says = (content) => ({ messages: [{ role: "user", content }] });
const text = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text).join(""));

/** Runs until RemoteGraph receives questions and returns them. */
async function question(running) {
  try {
    await running;
  } catch (err) {
    if (isGraphInterrupt(err)) return err.interrupts;
    throw err;
  }
  return [];
}

/** Reads a stream up to the frame with a question and leaves. Returns whether there was one. */
async function leaveAtQuestion(at, body) {
  const response = await fetch(`${at}/runs/stream`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of response.body) {
    text += decoder.decode(piece, { stream: true });
    if (text.includes('"__interrupt__"')) return true; // leaving the loop closes the connection
  }
  return false;
}

for (const [name, { agent, input, answer, says: last }] of Object.entries(agents)) {
  describe(`RemoteGraph before ${name}`, () => {
    test("a question is answered as soon as it is asked", async () => {
      for (let i = 0; i < rounds; i++) {
        const graph = new RemoteGraph({ graphId: agent, url });
        const { body: thread } = await call("POST", `${url}/threads`, {});
        const config = { configurable: { thread_id: thread.thread_id } };
        const asked = await question(graph.invoke(says(input), config));
        assert.equal(asked.length, 1, `round ${i}: one question`);
        const values = await graph.invoke(new Command({ resume: answer }), config);
        assert.equal(values.messages.at(-1).content, last, `round ${i}`);
        const state = await graph.getState(config);
        assert.deepEqual(state.next, []);
      }
    });

    test("a client that leaves at the question and answers at once is not refused", async () => {
      const fields = { assistant_id: agent, stream_mode: ["values", "updates"], if_not_exists: "create" };
      for (let i = 0; i < rounds; i++) {
        const at = `${url}/threads/${crypto.randomUUID()}`;
        assert.ok(await leaveAtQuestion(at, { ...fields, input: says(input) }), `round ${i}: asked`);
        assert.ok(!await leaveAtQuestion(at, { ...fields, command: { resume: answer, goto: [] } }), `round ${i}: asked again`);
        const { body: state } = await call("GET", `${at}/state`);
        assert.equal(state.values.messages.at(-1).content, last, `round ${i}`);
      }
    });

    test("streamEvents of version v3 tells a run to its end, and a question", async () => {
      const run = await new RemoteGraph({ graphId: agent === "ask" ? "chat" : agent, url }).streamEvents(says("write it"), { version: "v3" });
      const [texts, methods] = [[], new Set()];
      const told = Promise.all([
        (async () => { for await (const message of run.messages) texts.push(await message.text); })(),
        (async () => { for await (const event of run) methods.add(event.method); })(),
      ]);
      const values = await run.output;
      assert.match(text(values.messages.at(-1)), agent === "ask" ? /you said: write it/ : /All done/);
      await told;
      assert.ok(texts.includes(text(values.messages.at(-1))), `${text(values.messages.at(-1))} is not in ${texts}`);
      for (const method of ["lifecycle", "checkpoints", "values", "updates", "messages", "tasks"]) assert.ok(methods.has(method), method);
      await run.thread.close();

      const asking = await new RemoteGraph({ graphId: agent, url }).streamEvents(says(input), { version: "v3" });
      await asking.output;
      assert.equal(asking.interrupted, true);
      assert.equal(asking.interrupts.length, 1);
      await asking.thread.close();
    });

    test("it runs as a node of another graph", async () => {
      const remote = new RemoteGraph({ graphId: agent === "ask" ? "chat" : agent, url });
      const parent = new StateGraph(MessagesAnnotation)
        .addNode("remote", remote)
        .addEdge(START, "remote")
        .addEdge("remote", END)
        .compile({ checkpointer: new MemorySaver() });
      const values = await parent.invoke(says("write it"), { configurable: { thread_id: crypto.randomUUID() } });
      assert.match(String(values.messages.at(-1).content), agent === "ask" ? /you said: write it/ : /All done/);
    });
  });
}

describe("questions of a LangGraph server", () => {
  const fields = { assistant_id: "both", input: null };

  test("two at once are answered by their ids, in one command or one after the other", async () => {
    for (const apart of [false, true]) {
      const { body: thread } = await call("POST", `${url}/threads`, {});
      const at = `${url}/threads/${thread.thread_id}`;
      const { body: asked } = await call("POST", `${at}/runs/wait`, { ...fields, input: says("hi") });
      const byText = Object.fromEntries(asked.__interrupt__.map((q) => [q.value, q]));
      const colour = byText["Which colour?"], days = byText["How many days?"];
      assert.equal(days.response_schema.properties.days.type, "integer");
      const { body: state } = await call("GET", `${at}/state`);
      assert.deepEqual(state.tasks.map((t) => [t.name, t.interrupts.length]), [["colour", 1], ["days", 1]]);
      const { body: shown } = await call("GET", at);
      assert.deepEqual(Object.keys(shown.interrupts), state.tasks.map((t) => t.id));

      const resume = (answer) => call("POST", `${at}/runs/wait`, { ...fields, command: { resume: answer } });
      for (const refused of ["blue", { [days.id]: { days: "three" } }, { [`${"0".repeat(31)}1`]: "blue" }]) {
        const { status, body } = await resume(refused);
        assert.equal(status, 422, JSON.stringify(refused));
        assert.ok(body.message.includes(days.id), body.message);
      }
      if (apart) {
        const { body: rest } = await resume({ [colour.id]: "blue" });
        assert.ok(rest.__interrupt__.some((q) => q.id === days.id));
        assert.deepEqual(rest.__interrupt__.map((q) => q.id), [days.id], "the server lists the answered one, too");
        const { body: left } = await call("GET", `${at}/state`);
        assert.deepEqual(left.tasks.map((t) => [t.name, t.interrupts.map((q) => q.id)]), [["colour", []], ["days", [days.id]]]);
      }
      const { body: values } = await resume({ ...(apart ? {} : { [colour.id]: "blue" }), [days.id]: { days: 3 } });
      assert.deepEqual(values.messages.slice(1).map((m) => m.content).sort(), ["colour: blue", "days: 3"]);
    }
  });

  test("of several that one node asks, those are left that were not answered", async () => {
    const { body: thread } = await call("POST", `${url}/threads`, {});
    const at = `${url}/threads/${thread.thread_id}`;
    const run = (how) => call("POST", `${at}/runs/wait`, { assistant_id: "many", input: null, ...how });
    let { body: asked } = await run({ input: says("hi") });
    for (const about of ["shape", "price", "size"]) {
      const open = asked.__interrupt__.map((q) => q.value);
      const { body: state } = await call("GET", `${at}/state`);
      assert.deepEqual(state.tasks.flatMap((t) => t.interrupts.map((q) => q.value)).sort(), open.sort());
      ({ body: asked } = await run({ command: { resume: { [asked.__interrupt__.find((q) => q.value === about).id]: "yes" } } }));
      assert.deepEqual((asked.__interrupt__ ?? []).map((q) => q.value).sort(), open.filter((other) => other !== about));
    }
    assert.deepEqual(asked.messages.slice(1).map((m) => m.content).sort(), ["price: yes", "shape: yes", "size: yes"]);
  });
});
