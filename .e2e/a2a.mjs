// A2A agents on the official SDKs for JavaScript and Go, in both versions over both bindings, behind the clients of
// other protocols: LangGraph's SDK, and tasks and steps.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { call, until } from "./http.mjs";

const apiUrl = process.env.E2E_BRIDGE;
const client = new Client({ apiUrl, callerOptions: { maxRetries: 0 } });
const user = (content) => ({ messages: [{ type: "human", content }] });
const urls = JSON.parse(process.env.E2E_A2A);

for (const agent of ["a2ajs", "a2ajsrest", "a2ajsold", "a2ajsoldrest"]) {
  test(`many tokens of ${agent} reach a client's stream once and in order`, async () => {
    const pieces = Array.from({ length: 200 }, (_, i) => `${i + 1} `);
    const tokens = [], ids = new Set();
    let values;
    for await (const { event, data } of client.runs.stream(null, agent, { input: user("count 200"), streamMode: ["messages-tuple", "values"] })) {
      if (event === "values") values = data;
      if (event !== "messages" || data[0].type === "human" || data[0].content === "") continue; // an empty one may end a message
      tokens.push(data[0].content);
      ids.add(data[0].id);
    }
    assert.deepEqual(tokens, pieces);
    assert.equal(lastOf(values), pieces.join(""));
    assert.deepEqual([...ids], [values.messages.at(-1).id]);
  });
}

/** Runs a command of the bridge to its end. */
const command = (...args) =>
  new Promise((done) => execFile(process.env.E2E_PROGRAM, args, (error, out, err) => done({ code: error?.code ?? 0, out, err })));
const lastOf = (values) => values.messages.at(-1).content;

for (const agent of ["a2ajs", "a2ajsrest", "a2ajsold", "a2ajsoldrest", "a2ago", "a2agorest", "a2agoold", "a2agooldrest"]) {
  describe(agent, { concurrency: true }, () => {
    test("a message is answered, and the next one is in the same context", async () => {
      const { thread_id } = await client.threads.create();
      assert.equal(lastOf(await client.runs.wait(thread_id, agent, { input: user("good day") })), "You said: good day");
      const values = await client.runs.wait(thread_id, agent, { input: user("and more") });
      assert.deepEqual(values.messages.map((m) => m.content), ["good day", "You said: good day", "and more", "You said: and more"]);
    });

    test("its words arrive in pieces, each once", async () => {
      const pieces = [];
      for await (const { event, data } of client.runs.stream(null, agent, { input: user("good day"), streamMode: "messages-tuple" })) {
        if (event === "messages" && /^(ai|AIMessageChunk)$/.test(data[0].type)) pieces.push(data[0].content);
      }
      assert.equal(pieces.join(""), "You said: good day");
      assert.ok(pieces.length > 1, JSON.stringify(pieces));
    });

    const decodesTwice = agent === "a2agooldrest" && "the SDK has base64 within base64 there";
    test("a file of a message reaches the agent, and its files are those of the thread", { skip: decodesTwice }, async () => {
      const content = [{ type: "text", text: "look" }, { type: "file", mimeType: "text/plain", data: Buffer.from("hi").toString("base64"), metadata: { filename: "in.txt" } }];
      const named = agent !== "a2ajsoldrest"; // the SDK drops names there
      assert.match(lastOf(await client.runs.wait(null, agent, { input: user(content) })), named ? /You said: look.*\[in\.txt=hi\]/s : /You said: look.*\[=hi\]/s);
      const { files } = await client.runs.wait(null, agent, { input: user("file of text") });
      assert.equal((named ? files["/note.txt"] : Object.values(files)[0]).content, "of text");
    });

    test("a question is shown, and its answer goes to the same task", async () => {
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, agent, { input: user("ask me") });
      const state = await client.threads.getState(thread_id);
      assert.deepEqual(state.tasks.flatMap((t) => t.interrupts.map((i) => i.value)), ["Which colour?"]);
      const values = await client.runs.wait(thread_id, agent, { command: { resume: "red" } });
      assert.equal(lastOf(values), "Painted it red.");
    });

    test("a failure has the agent's words", async () => {
      const failed = await client.runs.wait(null, agent, { input: user("fail now"), raiseError: false }).catch((e) => e);
      assert.match(JSON.stringify(failed) + failed.message, /the disk is full/);
    });

    test("refused work is refused in every protocol", async () => {
      const failed = await client.runs.wait(null, agent, { input: user("reject it"), raiseError: false }).catch((e) => e);
      assert.match(JSON.stringify(failed) + failed.message, /not my job/);
      const { body } = await call("POST", `${apiUrl}/a2a/${agent}/message:send`, { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "reject it" }] } }, { "a2a-version": "1.0" });
      assert.equal(body.task.status.state, "TASK_STATE_REJECTED");
      assert.match(JSON.stringify(body.task.status.message), /not my job/);
    });

    test("a cancellation reaches the agent", async () => {
      const { thread_id } = await client.threads.create();
      const mark = crypto.randomUUID();
      const { run_id } = await client.runs.create(thread_id, agent, { input: user(`wait ${mark}`) });
      await until("the run", () => client.runs.get(thread_id, run_id), (run) => run.status === "running");
      await client.runs.cancel(thread_id, run_id, true);
      assert.equal((await client.runs.get(thread_id, run_id)).status, "interrupted");
      const asked = async () => lastOf(await client.runs.wait(null, agent, { input: user(`canceled ${mark}`) }));
      await until("the agent's cancellation", asked, (said) => said === "yes");
    });

    test("a harness of tasks and steps pulls its answer", async () => {
      const tasks = `${apiUrl}/agents/${agent}/ap/v1/agent/tasks`;
      const { body: task } = await call("POST", tasks, { input: "good day" });
      const { body: step } = await call("POST", `${tasks}/${task.task_id}/steps`, {});
      assert.equal(step.output, "You said: good day");
      assert.equal(step.is_last, true);
    });

    test("doctor finds its version and its binding", async () => {
      const { code, out } = await command("doctor", urls[agent]);
      const profile = `A2A ${/old/.test(agent) ? "0.3" : "1.0"} over ${/rest/.test(agent) ? "HTTP+JSON" : "JSONRPC"}`;
      assert.equal(code, 0, out);
      assert.ok(out.includes(profile) && out.includes("dialect: a2a"), out);
    });

    test("apbridge run prints its answer, and says what failed or was asked", async () => {
      const said = await command("run", urls[agent], "good day");
      assert.deepEqual([said.code, said.out.includes("You said: good day")], [0, true], said.out + said.err);
      const failed = await command("run", urls[agent], "fail now");
      assert.deepEqual([failed.code, (failed.out + failed.err).includes("the disk is full")], [1, true], failed.out + failed.err);
      const asked = await command("run", urls[agent], "ask me");
      assert.deepEqual([asked.code, (asked.out + asked.err).includes("Which colour?")], [1, true], asked.out + asked.err);
    });

    test("data and links reach it as parts, and its artifacts reach A2A clients as they are", async () => {
      const link = { url: "https://example.com/map.png", filename: "map.png", mediaType: "image/png" };
      const parts = [{ text: "mirror this" }, { data: { km: 1.5 } }, link];
      const { body } = await call("POST", `${apiUrl}/a2a/${agent}/message:send`, { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts } }, { "a2a-version": "1.0" });
      const [{ artifactId, name, description, parts: got }, ...others] = body.task.artifacts;
      if (agent === "a2ajsoldrest") link.filename = undefined; // the SDK drops names there
      assert.deepEqual([artifactId, name, description, others], ["mirrored", "A mirror", "What was sent", []]);
      assert.deepEqual(JSON.parse(JSON.stringify(got)), JSON.parse(JSON.stringify(parts)));
    });

    test("an A2A client is served in front of it", async () => {
      const { body: card } = await call("GET", `${apiUrl}/a2a/${agent}/.well-known/agent-card.json`);
      assert.equal(card.supportedInterfaces[0].url, `${apiUrl}/a2a/${agent}`);
      const params = { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "good day" }] } };
      const { body } = await call("POST", `${apiUrl}/a2a/${agent}`, { jsonrpc: "2.0", id: 1, method: "SendMessage", params });
      assert.equal(body.result.task.status.state, "TASK_STATE_COMPLETED");
      assert.equal(body.result.task.artifacts[0].parts[0].text, "You said: good day");
    });
  });
}
