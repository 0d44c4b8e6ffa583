// AG-UI's LangGraph adapter, by which CopilotKit talks to LangGraph.
import { LangGraphAgent } from "@ag-ui/langgraph";
import { options, start, words } from "./start.jsx";
import { useModel } from "./model.jsx";

const agent = new LangGraphAgent({ deploymentUrl: options.url, graphId: options.agent, threadId: options.thread ?? crypto.randomUUID() });
const model = { working: false, error: null, questions: [], threadId: null };

async function run(input, changed) {
  changed({ working: true, error: null, questions: [] });
  try {
    await agent.runAgent(input, {
      onEvent: () => changed({}),
      // The adapter knows the server's name of the run from here on, and can cancel it.
      onRawEvent: () => changed({ threadId: agent.threadId }),
      onCustomEvent: ({ event }) => {
        if (event.name === "on_interrupt") changed({ questions: [{ id: "interrupt", value: decoded(event.value) }] });
      },
      onRunErrorEvent: ({ event }) => changed({ error: event.message }),
    });
  } catch (err) {
    changed({ error: model.error ?? err }); // the agent's own words come first
  }
  changed({ working: false });
}

function decoded(value) {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const types = { user: "human", assistant: "ai" };

function shown(m) {
  return { id: m.id, type: types[m.role] ?? m.role, text: words(m.content), calls: m.toolCalls?.map((c) => ({ id: c.id, name: c.function.name })) };
}

function useChat() {
  const [state, changed] = useModel(model);
  return {
    ...state,
    messages: agent.messages.map(shown),
    files: Object.keys(agent.state?.files ?? {}),
    send(text, file) {
      const blob = file && { type: "binary", mimeType: file.mimeType, data: file.data, filename: file.name };
      agent.addMessage({ id: crypto.randomUUID(), role: "user", content: file ? [{ type: "text", text }, blob] : text });
      run({}, changed);
    },
    answer: (resume) => run({ forwardedProps: { command: { resume } } }, changed),
    stop: () => agent.abortRun(),
  };
}

start(useChat);
