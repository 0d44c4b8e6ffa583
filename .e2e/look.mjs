// A page's view of a task/step agent, through the SDK's own readers of messages and history.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { MessageTupleManager } from "@langchain/langgraph-sdk/ui";

const client = new Client({ apiUrl: process.env.E2E_BRIDGE, callerOptions: { maxRetries: 0 } });
const { threads, runs } = client;
const says = (content, id = crypto.randomUUID()) => ({ messages: [{ type: "human", content, id }] });

/** All events of a stream and the messages that result from them. */
async function watch(thread, agent, payload) {
  const frames = [];
  for await (const frame of runs.stream(thread, agent, { streamMode: ["messages-tuple", "updates", "values", "tasks"], ...payload })) frames.push(frame);
  const of = (event) => frames.filter((f) => f.event === event).map((f) => f.data);
  const added = new MessageTupleManager();
  const ids = new Set(of("messages").map(([chunk, metadata]) => added.add(structuredClone(chunk), metadata)));
  return { of, messages: [...ids].map((id) => added.get(id).chunk) };
}

describe("an agent that proposes commands", () => {
  test("its commands are tool calls, their results tool messages, and nothing is said twice", async () => {
    const { thread_id } = await threads.create();
    const { of, messages } = await watch(thread_id, "autogpt", { input: says("write it") });
    const last = of("values").at(-1).messages;
    assert.deepEqual(last.map((m) => [m.type, m.content]), [
      ["human", "write it"], ["ai", "On it."], ["tool", "File src/output.txt has been written successfully."],
      ["ai", "That should be it."], ["ai", "All done"],
    ]);
    const [call] = last[1].tool_calls;
    assert.deepEqual(call, { id: last[1].id, name: "write_to_file", args: { filename: "src/output.txt", contents: "write it" }, type: "tool_call" });
    assert.deepEqual([last[2].tool_call_id, last[2].name, last[2].status], [call.id, "write_to_file", "success"]);
    assert.equal(last[3].additional_kwargs.apbridge.use_tool.name, "finish", "all that the agent said is kept");
    assert.deepEqual(last[3].tool_calls, []);

    const streamed = messages.map((m) => [m.getType(), m.id, m.content, (m.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args }))]);
    const kept = last.slice(1).map((m) => [m.type, m.id, m.content, (m.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args }))]);
    assert.deepEqual(streamed, kept, "the chunks add up to the messages of the state");
  });

  test("one name of the node everywhere", async () => {
    const { thread_id } = await threads.create();
    const { of } = await watch(thread_id, "jsagent", { input: says("name it") });
    const [state, ...before] = await threads.getHistory(thread_id);
    const names = [
      ...of("updates").flatMap((u) => Object.keys(u)), ...of("tasks").map((t) => t.name), ...of("messages").map(([, m]) => m.langgraph_node),
      ...before.slice(0, -1).flatMap((s) => [...s.next, ...s.tasks.map((t) => t.name)]),
    ];
    const { nodes } = await client.assistants.getGraph("jsagent");
    assert.deepEqual([...new Set(names)], ["step"]);
    assert.deepEqual(nodes.map((n) => n.id), ["__start__", "step", "__end__"]);
    assert.deepEqual([state.next, before.at(-1).next], [[], ["__start__"]]);
  });

  test("the first message can be edited", async () => {
    const { thread_id } = await threads.create();
    const first = says("first");
    await runs.wait(thread_id, "jsagent", { input: first });
    const history = await threads.getHistory(thread_id);
    const seen = history.findLast((s) => s.values.messages?.some((m) => m.id === first.messages[0].id));
    assert.ok(seen.parent_checkpoint, "the state that the message came with has one before it");
    const values = await runs.wait(thread_id, "jsagent", { input: says("other"), checkpoint: seen.parent_checkpoint });
    const humans = (v) => v.messages.filter((m) => m.type === "human").map((m) => m.content);
    assert.deepEqual(humans(values), ["other"]);
    assert.deepEqual(humans((await threads.getState(thread_id)).values), ["other"]);
  });

  test("a failure is a message, and no part of the next conversation", async () => {
    const { thread_id } = await threads.create();
    await assert.rejects(runs.wait(thread_id, "autogpt", { input: says("broken") }));
    const said = (await threads.get(thread_id)).values.messages.at(-1);
    assert.match(said.content, /^Error: .*no model here/);
    assert.equal(said.additional_kwargs.apbridge.error.type, "upstream_error");
    await runs.wait(thread_id, "jsagent", { input: says("and now?") });
    const { values } = await threads.getState(thread_id);
    const prompt = values.messages.find((m) => m.content.startsWith("asked:")).content;
    assert.match(prompt, /User: broken/);
    assert.doesNotMatch(prompt, /Error:/);
  });

  test("a list of threads has each message once", async () => {
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, "jsagent", { input: says("once") });
    const [found] = await threads.search({ ids: [thread_id] });
    assert.deepEqual([found.values.messages.length, found.messages], [4, undefined]);
  });
});
