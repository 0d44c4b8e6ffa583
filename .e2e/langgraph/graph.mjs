// Small graphs that need no model and no network. Each has one feature that a
// bridge must support; see the end-to-end tests.
import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  Annotation,
  Command,
  END,
  MessagesAnnotation,
  MessagesZodMeta,
  START,
  Send,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import { registry } from "@langchain/langgraph/zod";
import { SwarmState, createSwarm } from "@langchain/langgraph-swarm";
import { z } from "zod";

/** The text of the newest human message, or "" if there is none. */
function request(state) {
  const human = state.messages.filter((m) => m.getType() === "human").at(-1);
  if (human == null) return "";
  return typeof human.content === "string"
    ? human.content
    : human.content.map((part) => part.text ?? "").join("");
}

/** Streams one sentence from a chat model, token by token. */
async function say(text, config) {
  const model = new FakeListChatModel({ responses: [text] });
  return { messages: [await model.invoke("go on", config)] };
}

/** Waits until the time is over or the run is cancelled. */
function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("cancelled"));
    });
  });
}

// chat: two nodes, messages with tokens, and a line of custom output.
export const chat = new StateGraph(MessagesAnnotation)
  .addNode("plan", (state, config) => {
    config.writer?.({ thinking: request(state) });
    return say("planning", config);
  })
  .addNode("answer", (state, config) =>
    say(`you said: ${request(state)}`, config),
  )
  .addEdge(START, "plan")
  .addEdge("plan", "answer")
  .addEdge("answer", END)
  .compile();

// files: values.files in the forms that deepagents uses. One file is new and then
// changed, one is created and deleted (by null), one repeats the request.
const FilesState = Annotation.Root({
  ...MessagesAnnotation.spec,
  files: Annotation({
    default: () => ({}),
    reducer: (left, right) => {
      const merged = { ...left, ...right };
      for (const [path, file] of Object.entries(right ?? {})) {
        if (file === null) delete merged[path];
      }
      return merged;
    },
  }),
});

const stamp = "2026-01-01T00:00:00.000Z";

function textFile(content) {
  return {
    content,
    mimeType: "text/plain",
    created_at: stamp,
    modified_at: stamp,
  };
}

export const files = new StateGraph(FilesState)
  .addNode("draft", (state) => ({
    messages: [new AIMessage(`given: ${Object.keys(state.files).sort().join(", ") || "nothing"}`)],
    files: {
      "/notes/draft.md": textFile("# Draft\n"),
      "/scratch.txt": { content: ["one", "two"], created_at: stamp, modified_at: stamp },
    },
  }))
  .addNode("finish", (state) => ({
    messages: [new AIMessage("wrote /output.txt")],
    files: {
      "/notes/draft.md": textFile("# Final\n"),
      "/scratch.txt": null,
      "/output.txt": { content: request(state), encoding: "utf-8", created_at: stamp, modified_at: stamp },
    },
  }))
  .addEdge(START, "draft")
  .addEdge("draft", "finish")
  .addEdge("finish", END)
  .compile();

// ask: stops with a HumanInterrupt (the form that agent inboxes show as a card)
// and continues with the user's answer. Before that it waits for as many milliseconds
// as the first number in the request, if there is one.
export const ask = new StateGraph(MessagesAnnotation)
  .addNode("prepare", async (state, config) => {
    await wait(Number(/\d+/.exec(request(state))?.[0] ?? 0), config.signal);
    return { messages: [new AIMessage("let me ask")] };
  })
  .addNode("ask", (state) => {
    const answer = interrupt([
      {
        action_request: { action: "send_mail", args: { to: "team", text: request(state) } },
        config: { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: false },
        description: "Send this mail?",
      },
    ]);
    return { messages: [new AIMessage(`answered: ${JSON.stringify(answer)}`)] };
  })
  .addNode("done", () => ({ messages: [new AIMessage("done")] }))
  .addEdge(START, "prepare")
  .addEdge("prepare", "ask")
  .addEdge("ask", "done")
  .addEdge("done", END)
  .compile();

// both: two nodes ask concurrently; the second gives a schema for the answer.
export const both = new StateGraph(MessagesAnnotation)
  .addNode("colour", () => ({ messages: [new AIMessage(`colour: ${interrupt("Which colour?")}`)] }))
  .addNode("days", () => {
    const responseSchema = { type: "object", properties: { days: { type: "integer" } }, required: ["days"] };
    return { messages: [new AIMessage(`days: ${interrupt("How many days?", { responseSchema }).days}`)] };
  })
  .addEdge(START, "colour")
  .addEdge(START, "days")
  .compile();

// many: three tasks of one node ask concurrently.
export const many = new StateGraph(MessagesAnnotation)
  .addNode("ask", ({ about }) => ({ messages: [new AIMessage(`${about}: ${interrupt(about)}`)] }))
  .addConditionalEdges(START, () => ["size", "shape", "price"].map((about) => new Send("ask", { about, messages: [] })), ["ask"])
  .addEdge("ask", END)
  .compile();

// fail: one successful step, then an exception.
export const fail = new StateGraph(MessagesAnnotation)
  .addNode("begin", () => ({ messages: [new AIMessage("so far so good")] }))
  .addNode("break", () => {
    throw new RangeError("the agent failed on purpose");
  })
  .addEdge(START, "begin")
  .addEdge("begin", "break")
  .addEdge("break", END)
  .compile();

// slow: three steps that together take as many milliseconds as the first
// number in the request, or 1500 without one.
function pause(name) {
  return async (state, config) => {
    const total = Number(/\d+/.exec(request(state))?.[0] ?? 1500);
    await wait(total / 3, config.signal);
    return { messages: [new AIMessage(`${name} done`)] };
  };
}

export const slow = new StateGraph(MessagesAnnotation)
  .addNode("first", pause("first"))
  .addNode("second", pause("second"))
  .addNode("third", pause("third"))
  .addEdge(START, "first")
  .addEdge("first", "second")
  .addEdge("second", "third")
  .addEdge("third", END)
  .compile();

// nested: a graph within a graph, for streams with subgraphs.
export const nested = new StateGraph(MessagesAnnotation)
  .addNode("inner", chat)
  .addNode("outer", () => ({ messages: [new AIMessage("outer done")] }))
  .addEdge(START, "inner")
  .addEdge("inner", "outer")
  .addEdge("outer", END)
  .compile();

// told: outputs the parts of its input other than the state.
export const told = new StateGraph(MessagesAnnotation)
  .addNode("tell", (_, { configurable, context, metadata, tags, store }) => {
    const own = Object.fromEntries(Object.entries(configurable).filter(([name]) => !/^(__|checkpoint)/.test(name)).sort());
    return { messages: [new AIMessage(JSON.stringify({ configurable: own, context, metadata, tags, store: typeof store }))] };
  })
  .addEdge(START, "tell")
  .addEdge("tell", END)
  .compile();

// typed: states with schemas that the server can return; it cannot find those of plain JavaScript.
const Said = z.object({ messages: z.array(z.any()).register(registry, MessagesZodMeta) });
const Typed = Said.extend({ answer: z.string().optional() });
const inside = new StateGraph(Typed)
  .addNode("look", (state) => ({ answer: `${request(state)}!` }))
  .addEdge(START, "look")
  .addEdge("look", END)
  .compile();
export const typed = new StateGraph({ state: Typed, input: Said, context: z.object({ user: z.string().optional() }) })
  .addNode("inside", inside)
  .addNode("say", ({ answer }, config) => say(answer, config))
  .addEdge(START, "inside")
  .addEdge("inside", "say")
  .addEdge("say", END)
  .compile();

// swarm: two agents. One answers until it hands over to the other.
const member = (name, other) => new StateGraph(SwarmState)
  .addNode("speak", (state, config) => {
    if (!request(state).includes(other)) return say(`${name} here`, config);
    return new Command({ goto: other, graph: Command.PARENT, update: { messages: [...state.messages, new AIMessage(`over to ${other}`)], activeAgent: other } });
  })
  .addEdge(START, "speak")
  .compile({ name });
export const swarm = createSwarm({ agents: [member("ada", "bob"), member("bob", "ada")], defaultActiveAgent: "ada" }).compile();

// spoken: one sentence, with a token every 20 milliseconds, so that it appears on a page gradually.
export const spoken = new StateGraph(MessagesAnnotation)
  .addNode("answer", async (_, config) => {
    const model = new FakeListChatModel({ responses: ["one token after another"], sleep: 20 });
    return { messages: [await model.invoke("go on", config)] };
  })
  .addEdge(START, "answer")
  .addEdge("answer", END)
  .compile();
const steps = () => new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, n: Annotation({ default: () => 0, reducer: (a, b) => a + b }) }))
  .addNode("work", () => ({ n: 1 })).addEdge(START, "work").addConditionalEdges("work", (s) => (s.n < 150 ? "work" : END)).compile();
export const steps150 = steps();
export const bound150 = steps().withConfig({ recursionLimit: 10000 });

// inner: a graph with two inner levels that asks at the lowest one, before a node that does not ask.
const bottom = new StateGraph(MessagesAnnotation)
  .addNode("think", () => ({ messages: [new AIMessage({ content: "thinking", id: "thought" })] }))
  .addNode("question", (state) => ({ messages: [new AIMessage({ content: `${state.messages.length} messages, told: ${interrupt("How deep?")}`, id: "told" })] }))
  .addEdge(START, "think")
  .addEdge("think", "question")
  .addEdge("question", END)
  .compile();
const middle = new StateGraph(MessagesAnnotation)
  .addNode("prepare", () => ({ messages: [new AIMessage({ content: "prepared", id: "prepared" })] }))
  .addNode("bottom", bottom)
  .addEdge(START, "prepare")
  .addEdge("prepare", "bottom")
  .addEdge("bottom", END)
  .compile();
export const inner = new StateGraph(MessagesAnnotation)
  .addNode("middle", middle)
  .addNode("last", () => ({ messages: [new AIMessage({ content: "at the top again", id: "last" })] }))
  .addEdge(START, "middle")
  .addEdge("middle", "last")
  .addEdge("last", END)
  .compile();

// keeper: stores its input in its store and outputs the stored items.
export const keeper = new StateGraph(MessagesAnnotation)
  .addNode("keep", async (state, config) => {
    const text = request(state);
    const before = await config.store.search(["notes"], { limit: 100 });
    if (text !== "") await config.store.put(["notes"], text, { text });
    const found = before.map((item) => item.key).sort().join(", ");
    return { messages: [new AIMessage(`found: ${found || "nothing"}`)] };
  })
  .addEdge(START, "keep")
  .addEdge("keep", END)
  .compile();
