// RemoteGraph of @langchain/langgraph: a graph that runs elsewhere, streamed as one that runs here would be.
import { Command } from "@langchain/langgraph/web";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { Client } from "@langchain/langgraph-sdk";
import { options, said, start, words } from "./start.jsx";
import { useModel } from "./model.jsx";

const graph = new RemoteGraph({ graphId: options.agent, url: options.url });
const client = new Client({ apiUrl: options.url });
const config = { configurable: { thread_id: options.thread ?? crypto.randomUUID() } };

const model = { messages: [], questions: [], working: false, error: null, files: [], threadId: options.thread, leave: null };

async function run(input, changed) {
  const leaving = new AbortController();
  changed({ working: true, error: null, questions: [], leave: leaving });
  try {
    await client.threads.create({ threadId: config.configurable.thread_id, ifExists: "do_nothing" });
    changed({ threadId: config.configurable.thread_id });
    for await (const [mode, data] of await graph.stream(input, { ...config, streamMode: ["values", "messages"], signal: leaving.signal })) {
      changed(mode === "values" ? whole(data) : part(data[0]));
    }
  } catch (err) {
    changed(err.interrupts ? { questions: err.interrupts } : { error: leaving.signal.aborted ? null : err });
  }
  changed({ working: false });
}

const whole = (values) => ({ messages: (values.messages ?? []).map(shown), files: Object.keys(values.files ?? {}) });

/** A piece of a message that is being written. */
function part({ id, content }) {
  const before = model.messages.find((m) => m.id === id);
  const text = (before?.text ?? "") + words(content);
  return { messages: [...model.messages.filter((m) => m !== before), { id, type: "ai", text, calls: [] }] };
}

const shown = (m) => ({ id: m.id, type: m.type, text: words(m.content), calls: m.tool_calls });

/** What is there when the page is opened again. */
async function restore(changed) {
  if (!options.thread) return;
  const state = await graph.getState(config);
  changed({ ...whole(state.values), questions: state.tasks.flatMap((task) => task.interrupts) });
}

function useChat() {
  const [state, changed] = useModel(model, restore);
  return {
    ...state,
    send(text, file) {
      const message = said(text, file);
      changed({ messages: [...model.messages, shown(message)] });
      run({ messages: [message] }, changed);
    },
    answer: (resume) => run(new Command({ resume }), changed),
    resolve: () => run(new Command({ goto: "__end__" }), changed),
  };
}

start(useChat);
