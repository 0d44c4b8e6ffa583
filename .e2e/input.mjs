// The whole input reaches a task/step agent: earlier turns, system messages, and files in messages, in the
// forms that pages and SDKs send. The agents are the official JavaScript SDK agent, which outputs its
// input and the names of its files, and an AutoGPT-like one.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { Client } from "@langchain/langgraph-sdk";
import { call } from "./http.mjs";

const apiUrl = process.env.E2E_BRIDGE;
const options = { apiUrl, callerOptions: { maxRetries: 0 } };
const client = new Client(options);
const base64 = (text) => Buffer.from(text).toString("base64");
const user = (...content) => ({ messages: [{ type: "human", id: crypto.randomUUID(), content }] });
const told = (values) => values.messages.find((m) => String(m.content).startsWith("asked: ")).content;

const text = { type: "text", text: "look" };
const parts = {
  "Agent Chat UI": { type: "file", mimeType: "text/plain", data: base64("hi"), metadata: { filename: "a.txt" } },
  "LangChain, base64 source": { type: "file", source_type: "base64", mime_type: "text/plain", data: base64("hi"), metadata: { name: "a.txt" } },
  "OpenAI file": { type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64("hi")}` } },
  "Anthropic document": { type: "document", title: "a.txt", source: { type: "base64", media_type: "text/plain", data: base64("hi") } },
};

describe("an input before a task/step agent", () => {
  for (const [form, part] of Object.entries(parts)) {
    test(`a file in a message, as ${form} sends it, is there before the first step`, async () => {
      const { thread_id } = await client.threads.create();
      const sent = user(text, part);
      const values = await client.runs.wait(thread_id, "jsagent", { input: sent });
      assert.equal(told(values), "asked: look\n[Attached file: a.txt] given: a.txt=hi");
      assert.deepEqual(values.messages[0].content, sent.messages[0].content, "the message stays as it was sent");
      const again = await client.runs.wait(thread_id, "jsagent", { input: { messages: [values.messages[0], ...user({ type: "text", text: "more" }).messages] } });
      assert.equal(again.messages.filter((m) => m.id === values.messages[0].id).length, 1);
      assert.match(again.messages.filter((m) => String(m.content).startsWith("asked: ")).at(-1).content,
        /User: look\n\[Attached file: a\.txt\]\n[^]*Current request:\nmore given: a\.txt=hi$/);
    });
  }

  test("an image as a data URL gets a name", async () => {
    const sent = user({ type: "image_url", image_url: { url: `data:image/png;base64,${base64("png")}` } });
    const values = await client.runs.wait(null, "jsagent", { input: sent });
    const name = `${sent.messages[0].id}.png`;
    assert.equal(told(values), `asked: [Attached file: ${name}] given: ${name}=png`);
  });

  test("bytes that are none are refused with the place of their message", async () => {
    const input = { messages: [...user("hi").messages, ...user({ type: "image", data: "!", mimeType: "image/png" }).messages] };
    await assert.rejects(client.runs.wait(null, "jsagent", { input }), /422[^]*input\.messages\[1\]/);
  });
});

// The AI SDK's adapter sends the whole conversation in each input, without a thread.
test("RemoteGraph: a whole conversation in one input is told", async () => {
  const graph = new RemoteGraph({ graphId: "jsagent", url: apiUrl });
  const messages = [new SystemMessage("Be brief."), new HumanMessage("my name is Ada"), new AIMessage("Hello Ada"), new HumanMessage("recall")];
  const values = await graph.invoke({ messages });
  assert.equal(told(values),
    "asked: Conversation so far:\n\nSystem: Be brief.\nUser: my name is Ada\nAssistant: Hello Ada\n\nCurrent request:\nrecall");
});

test("what an agent is not told as it was sent is in the loss header", async () => {
  const link = { type: "image_url", image_url: { url: "https://x.example/a.png" } };
  const answer = await fetch(`${apiUrl}/runs/wait`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistant_id: "jsagent", input: user(text, link, { type: "reasoning", reasoning: "hm" }) }),
  });
  assert.equal(answer.headers.get("x-apbridge-unsupported"), "messages.links;approximated, messages.parts;dropped");
  assert.equal(told(await answer.json()), "asked: look\n[Attached link: https://x.example/a.png]");
});

test("an AutoGPT-like agent has the file in its workspace", async () => {
  const name = `${crypto.randomUUID()}.txt`;
  await client.runs.wait(null, "autogpt", { input: user(text, { type: "file", mimeType: "text/plain", data: base64("hi"), metadata: { filename: name } }) });
  const tasks = `${process.env.E2E_AUTOGPT}/ap/v1/agent/tasks`;
  const { tasks: list } = (await call("GET", `${tasks}?page_size=1000`)).body;
  const task = list.find((t) => t.artifacts.some((a) => a.file_name === name));
  assert.ok(task, "no task has the file");
  assert.match(task.input, new RegExp(`Attached file: ${name}`));
});
