// An A2A agent on the official JavaScript SDK: JSON-RPC at / and HTTP+JSON at /rest, in version 1.0 or 0.3.
//
//   node agent.mjs [PORT [VARIANT]]
//
// VARIANT is jsonrpc (the default), rest, 0.3 or 0.3rest: the interface that the card announces. The first word of a message selects
// what the agent does, as in a2ago/main.go.
import { setTimeout as pause } from "node:timers/promises";
import express from "express";
import { AgentCard, Message, Part, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";

const variant = process.argv[3] ?? "jsonrpc";
const canceled = new Set(); // ids of tasks
const waits = new Map(); // the ids of waiting tasks by the text after the word

class Executor {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const text = userMessage.parts.map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");
    const files = userMessage.parts.filter((p) => p.content?.$case === "raw").map((p) => ` [${p.filename}=${Buffer.from(p.content.value)}]`).join("");
    const status = (state, text) => bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId,
      status: { state: `TASK_STATE_${state}`, timestamp: new Date().toISOString(), message: text && said(text) } })));
    const said = (text) => ({ messageId: crypto.randomUUID(), role: "ROLE_AGENT", taskId, contextId, parts: [{ text }] });
    const artifact = (artifactId, part, more) => bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId,
      artifact: { artifactId, parts: [part] }, ...more })));
    const [word, ...rest] = text.split(" ");
    if (word === "message") {
      bus.publish(AgentEvent.message(Message.fromJSON({ messageId: crypto.randomUUID(), contextId, role: "ROLE_AGENT", parts: [{ text: `directly: ${rest.join(" ")}` }] })));
      return bus.finished();
    }
    if (task == null) {
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED" }, history: [Message.toJSON(userMessage)] })));
      status("WORKING");
    }
    if (task != null) {
      artifact("painted", { text: `Painted it ${text}.` }, { lastChunk: true });
      status("COMPLETED");
    } else if (word === "ask") status("INPUT_REQUIRED", "Which colour?");
    else if (word === "fail") status("FAILED", "the disk is full");
    else if (word === "reject") status("REJECTED", "not my job");
    else if (word === "file") {
      artifact("note", { raw: Buffer.from(rest.join(" ")).toString("base64"), filename: "note.txt", mediaType: "text/plain" }, { lastChunk: true });
      status("COMPLETED");
    } else if (word === "mirror") { // the parts of the message as an artifact
      const parts = userMessage.parts.map((p) => Part.toJSON(p));
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, lastChunk: true,
        artifact: { artifactId: "mirrored", name: "A mirror", description: "What was sent", parts } })));
      status("COMPLETED");
    } else if (word === "count") { // one piece for each number
      const last = Number(rest[0]);
      for (let n = 1; n <= last; n++) artifact("response", { text: `${n} ` }, { append: n > 1, lastChunk: n === last });
      status("COMPLETED");
    } else if (word === "canceled") { // whether the task that waited with the same text was canceled by a client
      artifact("response", { text: canceled.has(waits.get(rest.join(" "))) ? "yes" : "no" }, { lastChunk: true });
      status("COMPLETED");
    } else if (word === "wait") {
      waits.set(rest.join(" "), taskId);
      while (!canceled.has(taskId)) await pause(20);
      status("CANCELED");
    } else {
      artifact("response", { text: "You said: " });
      artifact("response", { text: text + files }, { append: true, lastChunk: true });
      status("COMPLETED");
    }
    bus.finished();
  }

  async cancelTask(taskId) {
    canceled.add(taskId);
  }
}

const app = express();
const server = app.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const interfaces = {
    jsonrpc: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    rest: [{ url: `${url}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
    "0.3": [{ url, protocolBinding: "JSONRPC", protocolVersion: "0.3" }],
    "0.3rest": [{ url: `${url}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" }],
  };
  const card = AgentCard.fromJSON({
    name: "a2ajs", description: "An agent for tests.", version: "1.0.0", supportedInterfaces: interfaces[variant],
    capabilities: { streaming: true, pushNotifications: false }, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{ id: "test", name: "test", description: "Does what a test needs.", tags: ["test"] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor());
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: variant.startsWith("0.3") } };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: options.legacyCompat }));
  app.use("/rest", restHandler(options));
  app.use("/", jsonRpcHandler(options));
  console.log(`listening on ${url}`);
});
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => process.exit(0));
