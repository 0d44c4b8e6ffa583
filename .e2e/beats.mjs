// A run without output for a long time: its readers receive keep-alives through
// any proxy, and no client mistakes them for data.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { call } from "./http.mjs";

const bridge = process.env.E2E_BRIDGE;
const silence = 18_000; // the bridge sends something after 15 s
const body = JSON.stringify({
  assistant_id: "slow", stream_mode: ["custom"], input: { messages: [{ role: "user", content: String(silence) }] },
});

async function text(path, options) {
  const res = await fetch(bridge + path, options);
  assert.equal(res.status, 200);
  return { text: await res.text(), type: res.headers.get("content-type"), at: res.headers.get("content-location") };
}

async function thread() {
  const { body: made } = await call("POST", `${bridge}/threads`, {});
  return `/threads/${made.thread_id}`;
}

const post = { method: "POST", headers: { "content-type": "application/json" }, body };

describe("heartbeats", { concurrency: true }, () => {
  test("a silent stream has comments, behind which no empty line makes an event", async () => {
    const stream = await text(`${await thread()}/runs/stream`, post);
    assert.match(stream.text, /\n: heartbeat\n/);
    assert.doesNotMatch(stream.text, /: heartbeat\n\n/);
    assert.deepEqual(stream.text.match(/^event: .*$/gm), ["event: metadata"]);
  });

  test("a silent stream of a whole thread has them too", async () => {
    const at = await thread();
    const leave = new AbortController();
    const res = await fetch(`${bridge}${at}/stream`, { signal: leave.signal });
    let seen = "";
    for await (const piece of res.body.pipeThrough(new TextDecoderStream())) {
      seen += piece;
      if (seen.includes(": heartbeat\n")) break;
    }
    leave.abort();
    assert.equal(seen, ": heartbeat\n");
  });

  test("a silent wait has white space, which is nothing before JSON", async () => {
    const waited = await text(`${await thread()}/runs/wait`, post);
    assert.match(waited.text, /^\s+\{/);
    assert.equal(JSON.parse(waited.text).messages.at(-1).content, "third done");
  });

  const { threads, runs } = new Client({ apiUrl: bridge, callerOptions: { maxRetries: 0 } });
  const input = { messages: [{ role: "user", content: String(silence) }] };

  test("the SDK streams, joins and waits across the silence", async () => {
    const [{ thread_id }, other] = await Promise.all([threads.create(), threads.create()]);
    const waited = runs.wait(other.thread_id, "slow", { input });
    const frames = [];
    let joined;
    for await (const frame of runs.stream(thread_id, "slow", { input, streamMode: ["updates"] })) {
      frames.push(frame.event);
      if (frame.event === "metadata") joined = runs.join(thread_id, frame.data.run_id);
    }
    assert.deepEqual(frames, ["metadata", "updates", "updates", "updates"]);
    for (const values of await Promise.all([joined, waited])) assert.equal(values.messages.at(-1).content, "third done");
  });
});
