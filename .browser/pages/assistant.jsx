// assistant-ui over LangGraph's streams, as its own LangGraph example does it.
import { AssistantRuntimeProvider, useAui, useAuiState } from "@assistant-ui/react";
import { unstable_createLangGraphStream, useLangGraphInterruptState, useLangGraphRuntime, useLangGraphSendCommand } from "@assistant-ui/react-langgraph";
import { Client } from "@langchain/langgraph-sdk";
import { options, start } from "./start.jsx";

const client = new Client({ apiUrl: options.url });

/** The checkpoint after these messages, from which an edit or another answer forks. */
async function getCheckpointId(threadId, messages) {
  const ids = messages.map((m) => m.id).join();
  const history = await client.threads.getHistory(threadId, { limit: 100 });
  const state = history.find(({ values }) => (values.messages ?? []).map((m) => m.id).join() === ids);
  return state?.checkpoint?.checkpoint_id ?? null;
}

async function load(externalId) {
  const { values, tasks } = await client.threads.getState(externalId);
  return { messages: values.messages ?? [], interrupts: tasks.flatMap((task) => task.interrupts) };
}

let threadId = null;

function Around({ children }) {
  const runtime = useLangGraphRuntime({
    unstable_allowCancellation: true,
    stream: unstable_createLangGraphStream({ client, assistantId: options.agent }),
    create: async () => {
      threadId = (await client.threads.create()).thread_id;
      return { externalId: threadId };
    },
    load, getCheckpointId,
  });
  return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
}

const types = { user: "human", assistant: "ai" };

/** A message's texts, each as a message of its own: assistant-ui puts the messages of a turn into one. */
function shown(aui, message, index) {
  const of = () => aui.thread().message({ index });
  const texts = message.content.filter((part) => part.type === "text");
  const calls = message.content.filter((part) => part.type === "tool-call").map((part) => ({ id: part.toolCallId, name: part.toolName }));
  const list = texts.map((part, i) => ({ id: `${message.id}/${i}`, type: types[message.role], text: part.text, calls: i === 0 ? calls : [] }));
  if (list.length === 0) return [{ id: message.id, type: types[message.role], text: "", calls }];
  Object.assign(list[0], {
    edit: message.role === "user" ? (text) => edit(of(), text) : undefined,
    again: message.role === "assistant" ? () => of().reload() : undefined,
    branches: branches(of),
  });
  return list;
}

function branches(of) {
  const { branchNumber, branchCount } = of().getState();
  if (branchCount < 2) return undefined;
  return { index: branchNumber - 1, count: branchCount, go: (step) => of().switchToBranch({ position: step < 0 ? "previous" : "next" }) };
}

function edit(message, text) {
  message.composer().beginEdit();
  message.composer().setText(text);
  message.composer().send();
}

function useChat() {
  const aui = useAui();
  const thread = useAuiState((s) => s.thread);
  const question = useLangGraphInterruptState();
  const command = useLangGraphSendCommand();
  const failed = thread.messages.at(-1)?.status;
  return {
    threadId,
    messages: thread.messages.flatMap((m, i) => shown(aui, m, i)),
    questions: question ? [question] : [],
    working: thread.isRunning,
    error: failed?.reason === "error" ? JSON.stringify(failed.error) : null,
    send: (text, file) => aui.thread().append({
      role: "user",
      content: [{ type: "text", text }, ...(file ? [{ type: "file", data: file.data, mimeType: file.mimeType, filename: file.name }] : [])],
    }),
    answer: (value) => command({ resume: value }),
    resolve: () => command({ goto: "__end__" }),
    stop: () => aui.thread().cancelRun(),
  };
}

start(useChat, Around);
