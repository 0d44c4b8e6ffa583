// Agent Protocol requests without an SDK to the default agent: the forms and refusals of
// the LangChain Agent Protocol document.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { call, events } from "./http.mjs";

const base = process.env.E2E_BRIDGE;
const get = (path, headers) => call("GET", base + path, undefined, headers);
const post = (path, body, headers) => call("POST", base + path, body, headers);

describe("Agent Protocol", () => {
  test("POST /runs/wait without naming an agent answers run, values and messages", async () => {
    const { status, body } = await post("/runs/wait", { input: "hi" });
    assert.equal(status, 200);
    assert.equal(body.run.status, "success");
    assert.deepEqual(body.messages.map((m) => m.role), ["user", "assistant", "assistant", "assistant"]);
    assert.equal(body.messages[0].content, "hi");
    assert.equal(body.messages.at(-1).content, "done");
    assert.equal(body.values.messages.length, 4);
  });

  test("every run is there as soon as it was answered, one after the other and many at once", async () => {
    const once = async (n) => {
      const { body } = await post("/runs/wait", { agent_id: "jsagent", input: `no file, number ${n}`, on_completion: "keep" });
      if (n % 3 === 0) return body.run.run_id; // read later
      const again = await get(`/runs/${body.run.run_id}`);
      assert.equal(again.status, 200);
      assert.equal(again.body.status, "success");
      const state = await get(`/threads/${body.run.thread_id}`);
      assert.equal(state.body.messages[0].content, `no file, number ${n}`);
      return body.run.run_id;
    };
    const ids = [];
    for (let n = 0; n < 10; n++) ids.push(await once(n));
    ids.push(...(await Promise.all(Array.from({ length: 20 }, (_, n) => once(n)))));
    assert.equal(new Set(ids).size, 30);
    for (const id of ids) assert.equal((await get(`/runs/${id}`)).body.status, "success");
  });

  test("messages of the request are the input", async () => {
    const { body } = await post("/runs/wait", { agent_id: "jsagent", messages: [{ role: "user", content: "by messages" }] });
    assert.match(body.messages[1].content, /asked: by messages/);
  });

  test("a stateless run is made, read, waited for, listed and deleted", async () => {
    const made = await post("/runs", { agent_id: "jsagent", input: "background", metadata: { via: "plain" }, on_completion: "keep" });
    assert.equal(made.status, 200);
    const run = made.body.run_id;
    assert.match(made.headers.get("content-location") ?? "", new RegExp(`/runs/${run}$`));
    const waited = await get(`/runs/${run}/wait`);
    assert.equal(waited.body.run.status, "success");
    assert.equal((await get(`/runs/${run}`)).body.status, "success");
    const found = await post("/runs/search", { metadata: { via: "plain" } });
    assert.ok(found.body.some((r) => r.run_id === run));
    assert.equal((await call("DELETE", `${base}/runs/${run}`)).status, 204);
    assert.equal((await get(`/runs/${run}`)).status, 404);
  });

  test("POST /runs/stream tells the modes of the document", async () => {
    const { status, headers, list } = await events("POST", `${base}/runs/stream`, {
      input: { messages: [{ role: "user", content: "stream" }] }, stream_mode: ["values", "updates"],
    });
    assert.equal(status, 200);
    assert.match(headers.get("content-type"), /^text\/event-stream/);
    assert.deepEqual(list.map((f) => f.event), ["metadata", "values", "updates", "values", "updates", "values", "updates", "values"]);
  });

  test("runs in a thread work without naming an agent", async () => {
    const { body: thread } = await post("/threads", {});
    const { body: run } = await post(`/threads/${thread.thread_id}/runs`, { input: "in a thread" });
    const waited = await get(`/threads/${thread.thread_id}/runs/${run.run_id}/wait`);
    assert.equal(waited.body.status, "success");
    const { body: after } = await get(`/threads/${thread.thread_id}`);
    assert.equal(after.messages.at(-1).content, "done");
    const history = await get(`/threads/${thread.thread_id}/history?limit=2`);
    assert.equal(history.body.length, 2);
  });

  test("PATCH of a thread merges metadata and appends messages", async () => {
    const { body: thread } = await post("/threads", { metadata: { a: 1 } });
    const { status, body } = await call("PATCH", `${base}/threads/${thread.thread_id}`, {
      metadata: { b: 2 }, messages: [{ role: "user", content: "noted" }],
    });
    assert.equal(status, 200);
    assert.deepEqual([body.metadata.a, body.metadata.b, body.messages.at(-1).content], [1, 2, "noted"]);
  });

  test("agents are searched, read and described", async () => {
    const { body: found } = await post("/agents/search", { name: "jsagent" });
    assert.deepEqual(found.map((a) => a.name), ["jsagent"]);
    assert.equal((await get(`/agents/${found[0].agent_id}`)).body.name, "jsagent");
    assert.ok((await get(`/agents/${found[0].agent_id}/schemas`)).body.input_schema);
    assert.equal((await get("/agents/nobody")).status, 404);
  });

  test("store items with a namespace of repeated labels", async () => {
    const label = `p${crypto.randomUUID()}`;
    assert.equal((await call("PUT", `${base}/store/items`, { namespace: [label, "x"], key: "k", value: { n: 1 } })).status, 204);
    assert.deepEqual((await get(`/store/items?namespace=${label}&namespace=x&key=k`)).body.value, { n: 1 });
    assert.deepEqual((await post("/store/namespaces", { prefix: [label] })).body, [[label, "x"]]);
    assert.equal((await call("DELETE", `${base}/store/items`, { namespace: [label, "x"], key: "k" })).status, 204);
    assert.equal((await get(`/store/items?namespace=${label}&namespace=x&key=k`)).status, 404);
  });
});

describe("refusals", () => {
  const nobody = "00000000-0000-4000-8000-000000000000";
  const table = {
    "an unknown run": [() => get(`/runs/${nobody}`), [404]],
    "another content type": [() => post("/runs/wait", "hi", { "content-type": "application/xml" }), [415]],
    "an over-deep body": [() => post("/runs/wait", `{"input":${"[".repeat(5000)}${"]".repeat(5000)}}`), [400, 413, 422]],
    "an oversized body": [() => post("/runs/wait", { input: "x".repeat(17 * 1024 * 1024) }), [413]],
    "an unknown task": [() => get(`/ap/v1/agent/tasks/${nobody}`), [404]],
    "a bad task body": [() => post("/ap/v1/agent/tasks", { input: 7 }), [422]],
  };
  for (const [name, [ask, want]] of Object.entries(table)) {
    test(`${name} is refused in JSON, with words`, async () => {
      const { status, body } = await ask();
      assert.ok(want.includes(status), `status ${status}, want ${want}`);
      assert.ok(typeof body.message === "string" && body.message.length > 0, JSON.stringify(body));
    });
  }
});
