// The streaming protocol ("v2") in LangGraph's JavaScript client: client.threads.stream
// and the controller that @langchain/react, @langchain/svelte and @langchain/vue share, with a
// task/step agent and with a LangGraph server, over server-sent events and over a WebSocket.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";

const url = process.env.E2E_BRIDGE;
const client = new Client({ apiUrl: url });
const says = (content) => ({ messages: [{ type: "human", content, id: crypto.randomUUID() }] });
const transports = ["sse", "websocket"];
globalThis.WebSocket ??= (await import("ws")).WebSocket; // Node has one since version 22

const agents = {
  "a LangGraph server": { agent: "chat", input: "hello", last: /you said: (hello|once more|a mistake)/, asks: "ask", question: "hi", slowly: "in 1500 ms", answer: [{ type: "accept", args: null }], done: "done" },
  "a task/step agent": { agent: "autogpt", input: "write it", last: /^All done$/, asks: "autogpt", question: "ask about colours", slowly: "ask slowly about colours", answer: "blue", done: "All done" },
};

/** Waits until a controller's state is as wanted. */
function until(controller, what, wanted) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      leave();
      const s = controller.rootStore.getSnapshot();
      reject(new Error(`${what}: ${JSON.stringify({ ...s, messages: s.messages.map((m) => [m.id, m.getType(), m.content]), error: String(s.error) })}`));
    }, 30_000);
    const look = () => {
      const s = controller.rootStore.getSnapshot();
      if (!wanted(s)) return;
      leave();
      resolve(s);
    };
    const leave0 = controller.rootStore.subscribe(look);
    function leave() {
      clearTimeout(timer);
      leave0?.();
    }
    queueMicrotask(look);
  });
}

/** Waits until the thread's agent has accepted a run. */
async function working(threadId) {
  const next = () => client.threads.getState(threadId).then((state) => state.next, () => []);
  while ((await next()).length === 0);
}

async function controlled(options, body) {
  const controller = new StreamController({ client, threadId: null, ...options });
  controller.activate();
  await controller.hydrate(options.threadId ?? null);
  try {
    return await body(controller);
  } finally {
    await controller.dispose();
  }
}

for (const transport of transports) {
  for (const [name, kind] of Object.entries(agents)) {
    describe(`the streaming protocol before ${name}, ${transport}`, () => {
      test("a run that is started makes its thread, streams and ends", async () => {
        const stream = client.threads.stream({ assistantId: kind.agent, transport });
        try {
          const messages = (async () => {
            const list = [];
            for await (const m of stream.messages) list.push(await m.text);
            return list;
          })();
          const { run_id } = await stream.run.start({ input: says(kind.input) });
          assert.ok(run_id);
          const values = await stream.output;
          assert.match(String(values.messages.at(-1).content), kind.last);
          assert.ok((await messages).some((text) => kind.last.test(text)), "its last message was streamed");
          const thread = await client.threads.get(stream.threadId);
          assert.equal(thread.status, "idle");
        } finally {
          await stream.close();
        }
      });

      test("a question is asked and answered", async () => {
        const stream = client.threads.stream({ assistantId: kind.asks, transport });
        try {
          await stream.run.start({ input: says(kind.question) });
          await stream.output;
          assert.equal(stream.interrupted, true);
          assert.equal(stream.interrupts.length, 1);
          const { interruptId, namespace } = stream.interrupts[0];
          await stream.input.respond({ namespace, interrupt_id: interruptId, response: kind.answer });
          await client.runs.join(stream.threadId, (await client.runs.list(stream.threadId))[0].run_id);
          const state = await stream.state.get({ namespace: [] });
          assert.equal(state.values.messages.at(-1).content, kind.done);
          const tree = await stream.agent.getTree();
          assert.equal(tree.tree.status, "completed");
          const { checkpoints } = await stream.state.listCheckpoints({ namespace: [], limit: 3 });
          assert.equal(checkpoints.length, 3);
          assert.equal(checkpoints[0].id, state.checkpoint.id);
        } finally {
          await stream.close();
        }
      });

      test("a page shows two turns, and the same after a reload", async () => {
        let threadId = null;
        const shown = await controlled({ assistantId: kind.agent, transport, onThreadId: (id) => { threadId = id; } }, async (page) => {
          await page.submit(says(kind.input));
          await until(page, "the first turn ends", (s) => !s.isLoading && s.messages.some((m) => kind.last.test(m.text)));
          const first = page.rootStore.getSnapshot().messages.length;
          await page.submit(says("once more"));
          return until(page, "the second turn ends", (s) => !s.isLoading && s.messages.length > first + 1 && kind.last.test(s.messages.at(-1).text));
        });
        assert.equal(shown.error ?? null, null);
        const ids = shown.messages.map((m) => m.id);
        assert.equal(new Set(ids).size, ids.length, "no message twice");
        const stored = (await client.threads.getState(threadId)).values.messages.map((m) => m.id);
        assert.deepEqual(ids, stored);
        await controlled({ assistantId: kind.agent, transport, threadId }, async (page) => {
          const again = await until(page, "the reloaded page shows all", (s) => s.messages.length === ids.length);
          assert.deepEqual(again.messages.map((m) => m.id), ids);
          assert.equal(again.isLoading, false);
        });
      });

      test("the last message that a person said is edited", async () => {
        let threadId = null;
        await controlled({ assistantId: kind.agent, transport, onThreadId: (id) => { threadId = id; } }, async (page) => {
          await page.submit(says(kind.input));
          await until(page, "the first turn ends", (s) => !s.isLoading && kind.last.test(s.messages.at(-1)?.text));
          const first = page.rootStore.getSnapshot().messages.length;
          await page.submit(says("a mistake"));
          await until(page, "the second turn ends", (s) => !s.isLoading && s.messages.length > first + 1 && kind.last.test(s.messages.at(-1).text));
          const said = page.rootStore.getSnapshot().messages[first].id;
          const { parentCheckpointId } = page.messageMetadataStore.getSnapshot().get(said);
          assert.ok(parentCheckpointId, "the page knows where to fork");
          await page.submit(says("once more"), { forkFrom: parentCheckpointId });
          await until(page, "the other turn ends", (s) => !s.isLoading && s.messages[first]?.text === "once more" && !s.messages.some((m) => m.text === "a mistake") && kind.last.test(s.messages.at(-1).text));
        });
        const { values } = await client.threads.getState(threadId);
        assert.deepEqual(values.messages.filter((m) => m.type === "human").map((m) => m.content), [kind.input, "once more"], "the edited message is gone");
      });

      test("a reloaded page shows the open question, and answers it", async () => {
        let threadId = null;
        await controlled({ assistantId: kind.asks, transport, onThreadId: (id) => { threadId = id; } }, async (page) => {
          await page.submit(says(kind.question));
          await until(page, "it is asked", (s) => s.interrupts.length === 1 && !s.isLoading);
        });
        await controlled({ assistantId: kind.asks, transport, threadId }, async (page) => {
          const { interrupts } = await until(page, "the question is there again", (s) => s.interrupts.length === 1);
          await page.respond(kind.answer, { interruptId: interrupts[0].id });
          const s = await until(page, "it ends", (s) => !s.isLoading && s.messages.at(-1)?.text === kind.done);
          assert.equal(s.interrupts.length, 0);
        });
      });

      test("a page that is reloaded while a run works shows what the run then asks, and answers it", async () => {
        const threadId = crypto.randomUUID();
        await controlled({ assistantId: kind.asks, transport, threadId }, async (page) => {
          void page.submit(says(kind.slowly));
          await until(page, "it works", (s) => s.isLoading && s.messages.length > 0);
          await working(threadId);
        });
        await controlled({ assistantId: kind.asks, transport, threadId }, async (page) => {
          await until(page, "the reloaded page sees it work", (s) => s.isLoading && s.interrupts.length === 0);
          const { interrupts } = await until(page, "it is asked", (s) => s.interrupts.length === 1 && !s.isLoading);
          await page.respond(kind.answer, { interruptId: interrupts[0].id });
          const s = await until(page, "it ends", (s) => !s.isLoading && s.messages.at(-1)?.text === kind.done);
          assert.equal(s.interrupts.length, 0);
        });
      });
    });
  }

  test(`a page that is opened while a run works sees it work and end, ${transport}`, async () => {
    const threadId = crypto.randomUUID();
    const first = client.threads.stream(threadId, { assistantId: "slow", transport });
    await first.run.start({ input: says("1500") });
    await working(threadId);
    await controlled({ assistantId: "slow", transport, threadId }, async (page) => {
      await until(page, "it works", (s) => s.isLoading);
      const s = await until(page, "it ends", (s) => !s.isLoading && s.messages.length === 4);
      assert.equal(s.messages.at(-1).text, "third done");
    });
    await first.close();
  });

  test(`a graph within a graph is told in its namespace, ${transport}`, async () => {
    const stream = client.threads.stream({ assistantId: "nested", transport });
    const seen = new Set();
    const sub = await Promise.all([
      stream.subscribe({ channels: ["lifecycle", "messages", "custom", "updates", "tasks"] }),
      stream.run.start({ input: says("hello") }),
    ]).then(([s]) => s);
    for await (const ev of sub) {
      seen.add(`${ev.method} ${ev.params.namespace.map((s) => s.split(":")[0]).join("/")}`);
      if (ev.method === "lifecycle" && ev.params.namespace.length === 0 && ev.params.data.event === "completed") break;
    }
    for (const want of ["lifecycle inner", "messages inner/plan", "custom inner", "updates inner", "updates ", "tasks "]) {
      assert.ok([...seen].some((s) => s.startsWith(want)), `${want} of ${[...seen]}`);
    }
    await stream.close();
  });

  test(`a run that fails says so, ${transport}`, async () => {
    await controlled({ assistantId: "fail", transport }, async (page) => {
      await page.submit(says("go"));
      const s = await until(page, "it fails", (s) => !s.isLoading && s.messages.length > 1);
      assert.ok(s.messages.some((m) => m.text === "so far so good"));
    });
  });
}

// The SDK sends no headers with a WebSocket, and refuses a client that has any. So a page adds its key
// in fetch, and sends it to the WebSocket as a subprotocol.
test("a page with a key, websocket", async () => {
  const key = process.env.E2E_KEY;
  const fetchWithKey = (at, init) => fetch(at, { ...init, headers: { ...init?.headers, "x-api-key": key } });
  const keyed = new Client({ apiUrl: process.env.E2E_KEYED, callerOptions: { fetch: fetchWithKey } });
  const offer = `x-api-key.${Buffer.from(key).toString("base64url")}`;
  const start = (webSocketFactory) => keyed.threads.stream({ assistantId: "autogpt", transport: "websocket", webSocketFactory, maxReconnectAttempts: 0 });
  const stream = start((at) => new WebSocket(at, ["apbridge", offer]));
  await stream.run.start({ input: says("write it") });
  assert.equal((await stream.output).messages.at(-1).content, "All done");
  assert.equal((await keyed.threads.get(stream.threadId)).status, "idle");
  await stream.close();
  const stranger = start(undefined);
  await assert.rejects(stranger.run.start({ input: says("write it") }));
  await stranger.close();
});
