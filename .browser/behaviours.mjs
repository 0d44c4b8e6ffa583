// Actions of a user in a chat, by their names on the compatibility page. Each is tried with the kinds of agents that it
// lists, on a separate page: run({chat, kind, name, client, bridge, wire}).
import assert from "node:assert/strict";
import { until } from "../.e2e/http.mjs";

export const kinds = {
  step: "a task/step agent",
  autogpt: "an AutoGPT-like agent",
  graph: "a LangGraph server",
};

/** Reads a thread's state, or a path below it. */
async function read(bridge, path) {
  const answer = await fetch(bridge + path);
  return answer.ok ? answer.json() : { status: answer.status };
}

const status = (bridge, thread, wanted) =>
  until(`status ${wanted}`, () => read(bridge, `/threads/${thread}`), (t) => t.status === wanted);

/** Two turns and an edit of the nth human message; the server must have the same text as the page. */
async function editing({ chat, bridge }, { words, last }, n) {
  await chat.turn(words[0], last(words[0]));
  await chat.turn(words[1], last(words[1]));
  await chat.edit(n, words[2]);
  await chat.ended(words[2], last(words[2]));
  const wanted = [...words.slice(0, n), words[2]];
  const humans = (list) => list.filter((m) => m.type === "human").map((m) => m.text ?? m.content);
  assert.deepEqual(humans((await chat.shown()).messages), wanted);
  const { values } = await read(bridge, `/threads/${await chat.thread()}/state`);
  assert.deepEqual(humans(values.messages), wanted, "the server has what is shown");
}

const done = () => "^done";
const echoed = (text) => `you said: ${text}$`;
const turns = {
  step: { agent: "jsagent", words: ["hello", "go on", "another"], last: done },
  autogpt: { agent: "autogpt", words: ["write it", "write more", "write another"], last: () => "All done" },
  graph: { agent: "chat", words: ["hello", "go on", "another"], last: echoed },
};
const slow = {
  step: { agent: "jsagent", words: "slow 2500", first: "asked: slow 2500", last: "^done" },
  graph: { agent: "slow", words: "3600", first: "first done", last: "^third done$" },
};
const asking = {
  autogpt: { agent: "autogpt", words: "ask about colours", last: "All done" },
  graph: { agent: "ask", words: "hi", last: "^done$" },
};

/** Answers the open question in the form that its kind of agent expects. */
async function answer(chat, kind) {
  await chat.question().waitFor();
  await (kind === "graph" ? chat.press("Accept") : chat.answer("blue"));
}

/** Sends a message while a question is open; the server must get it. */
async function sentAtAQuestion(chat, bridge) {
  await chat.send("blue");
  const state = `/threads/${await chat.thread()}/state`;
  await until("the server has the message", () => read(bridge, state), ({ values }) => values.messages.some((m) => m.type === "human" && m.content === "blue"), chat.patience);
}

export const behaviours = {
  "send": {
    kinds: turns,
    async run({ chat, kind }) {
      await chat.turn(kind.words[0], kind.last(kind.words[0]));
    },
  },
  "steps arrive one by one": {
    kinds: slow,
    async run({ chat, kind }) {
      await chat.send(kind.words);
      await chat.until("the first step while the second works", (shown, first) => shown.working && shown.messages.at(-1)?.text.includes(first), kind.first);
      await chat.ended(kind.words, kind.last);
    },
  },
  "tokens": {
    kinds: { graph: { agent: "spoken" } },
    async run({ chat }) {
      await chat.turn("speak", "^one token after another$");
      const parts = (await chat.texts()).find((list) => list.at(-1) === "one token after another");
      assert.ok(parts.length > 3, `it was shown at once: ${JSON.stringify(parts)}`);
    },
  },
  "second turn, the agent remembers": {
    kinds: { step: turns.step, graph: turns.graph },
    async run({ chat, kind, name }) {
      const [first, second] = kind.words;
      await chat.turn(first, kind.last(first));
      await chat.turn(second, kind.last(second));
      if (name === "step") await chat.says(`User: ${first}`);
      else assert.equal((await chat.shown()).messages.length, 6);
      await chat.nothingTwice();
    },
  },
  "reload: the same messages": {
    kinds: turns,
    async run({ chat, kind }) {
      await chat.turn(kind.words[0], kind.last(kind.words[0]));
      const ids = await chat.nothingTwice();
      await chat.reload();
      await chat.until("the same messages", (shown, ids) => shown.messages.map((m) => m.id).join() === ids.join(), ids);
    },
  },
  "reload while a run works": {
    kinds: slow,
    async run({ chat, kind }) {
      await chat.send(kind.words);
      await chat.says(kind.first);
      await chat.reload();
      await chat.until("it works", (shown) => shown.working);
      await chat.ended(kind.words, kind.last);
      await chat.nothingTwice();
    },
  },
  "connection lost: continues, nothing twice": {
    kinds: slow,
    async run({ chat, kind, wire }) {
      await chat.send(kind.words);
      await chat.says(kind.first);
      wire.cut();
      await chat.ended(kind.words, kind.last);
      await chat.nothingTwice();
    },
  },
  "question shown and answered": {
    kinds: asking,
    async run({ chat, kind, name }) {
      await chat.send(kind.words);
      await answer(chat, name);
      await chat.ended(null, kind.last);
      assert.deepEqual((await chat.shown()).questions, []);
    },
  },
  "question still there after a reload": {
    kinds: asking,
    async run({ chat, kind, name }) {
      await chat.send(kind.words);
      await chat.question().waitFor();
      await chat.reload();
      await answer(chat, name);
      await chat.ended(null, kind.last);
    },
  },
  "question answered in the chat box": {
    // A graph treats such a message as a new turn. This is only tried without the bridge, to see the page's request.
    kinds: { autogpt: asking.autogpt, graph: { ...asking.graph, directOnly: true } },
    async run({ chat, kind, name, bridge }) {
      await chat.send(kind.words);
      await chat.question().waitFor();
      if (name === "graph") return sentAtAQuestion(chat, bridge);
      await chat.turn("blue", kind.last);
      const { values } = await read(bridge, `/threads/${await chat.thread()}/state`);
      assert.match(JSON.stringify(values.files), /\(blue\)/, "the agent has the answer");
    },
  },
  "command approved": {
    kinds: { autogpt: { agent: "careful" } },
    async run({ chat, bridge }) {
      await chat.send("write it");
      await chat.question().waitFor();
      await chat.press("Approve", chat.question());
      await chat.ended("write it", "All done");
      const { values } = await read(bridge, `/threads/${await chat.thread()}/state`);
      assert.ok(values.files["/src/output.txt"], "the command was run");
    },
  },
  "command rejected": {
    kinds: { autogpt: { agent: "careful" } },
    async run({ chat, client, bridge }) {
      await chat.send("write it");
      await chat.reject("not now");
      if (client.hidesAnswers) await chat.until("the next proposal", (shown) => shown.messages.filter((m) => m.type === "ai").length === 2);
      else await chat.until("the reason", (shown) => shown.messages.some((m) => m.type === "human" && m.text === "not now"));
      const thread = await chat.thread();
      await status(bridge, thread, "interrupted");
      const { values } = await read(bridge, `/threads/${thread}/state`);
      assert.equal(values.files?.["/src/output.txt"], undefined, "the command was not run");
    },
  },
  "question dropped (\"Mark as resolved\")": {
    kinds: asking,
    async run({ chat, kind, bridge }) {
      await chat.send(kind.words);
      await chat.question().waitFor();
      await chat.press("Mark as resolved");
      await chat.until("no question", (shown) => shown.questions.length === 0 && !shown.working && shown.error === null);
      await status(bridge, await chat.thread(), "idle");
    },
  },
  "edit a later message, switch the branch": {
    kinds: turns,
    async run(scene) {
      await editing(scene, scene.kind, 1);
      const last = scene.chat.message("human", 1);
      await scene.chat.press("Previous", last);
      await scene.chat.says(scene.kind.words[1]);
    },
  },
  "edit a later message": {
    kinds: turns,
    run: (scene) => editing(scene, scene.kind, 1),
  },
  "edit the first message": {
    kinds: turns,
    run: (scene) => editing(scene, scene.kind, 0),
  },
  "regenerate": {
    kinds: turns,
    async run({ chat, kind }) {
      await chat.turn(kind.words[0], kind.last(kind.words[0]));
      const ids = await chat.nothingTwice();
      await chat.press("Again", chat.message("ai", 0));
      await chat.until("another answer", (shown, [old, count]) => !shown.working && shown.messages.length === count && !shown.messages.slice(1).some((m) => old.includes(m.id)), [ids, ids.length]);
    },
  },
  "stop": {
    kinds: { step: { agent: "jsagent", words: "slow 30000" }, graph: { agent: "slow", words: "60000" } },
    async run({ chat, kind, bridge }) {
      await chat.send(kind.words);
      const thread = await chat.thread();
      await status(bridge, thread, "busy");
      await chat.press("Stop");
      await chat.until("nothing at work", (shown) => !shown.working);
      await until("the run ends", () => read(bridge, `/threads/${thread}`), (t) => t.status !== "busy", 5_000);
    },
  },
  "error shown, the next turn works": {
    kinds: { step: { agent: "jsagent", words: "fail", next: "hello" }, graph: { agent: "fail", words: "go" } },
    async run({ chat, kind, name, client }) {
      await chat.send(kind.words);
      if (!client.alertless?.includes(name)) await chat.until("the error", (shown) => !shown.working && shown.error?.includes("failed on purpose"));
      if (name !== "step") return;
      await chat.says("failed on purpose"); // a task/step agent's failure is a message, too
      await chat.turn(kind.next, "^done");
    },
  },
  "files of the agent": {
    kinds: { step: { agent: "jsagent", words: "write", path: "/out/result.txt" }, autogpt: { agent: "autogpt", words: "write it", path: "/src/output.txt" }, graph: { agent: "files", words: "write", path: "/output.txt" } },
    async run({ chat, kind }) {
      await chat.send(kind.words);
      await chat.until(kind.path, (shown, path) => shown.files.includes(path) && !shown.working, kind.path);
    },
  },
  "file attached to a message": {
    kinds: { step: { agent: "jsagent" } },
    async run({ chat, client }) {
      await chat.send("look at it", { name: "note.txt", text: "words of a file" });
      const name = client.namesFiles ?? "note\\.txt";
      await chat.until(`the file as ${name}`, (shown, name) => shown.messages.some((m) => new RegExp(`given: ${name}=words of a file$`).test(m.text)), name);
    },
  },
  "commands as tool calls": {
    kinds: { autogpt: { agent: "autogpt" } },
    async run({ chat }) {
      await chat.turn("write it", "All done");
      await chat.page.locator("section[aria-label='Tool write_to_file']").waitFor();
    },
  },
};
