// useStream of langgraph-sdk/react, in the way of LangChain's own chat pages; the SDK's version is the bundle's choice.
import { useState } from "react";
import { useStream } from "langgraph-sdk/react";
import { options, said, start, words } from "./start.jsx";

function useChat() {
  const [threadId, setThread] = useState(options.thread);
  const stream = useStream({
    apiUrl: options.url, assistantId: options.agent, threadId, onThreadId: setThread,
    fetchStateHistory: true, reconnectOnMount: true,
  });
  const show = (message) => (prev) => ({ ...prev, messages: [...(prev.messages ?? []), message] });
  return {
    threadId,
    messages: stream.messages.map((m, i) => shown(stream, m, i)),
    questions: stream.interrupts ?? [stream.interrupt].flat().filter(Boolean),
    working: stream.isLoading,
    error: stream.error,
    files: Object.keys(stream.values.files ?? {}),
    send: (text, file) => {
      const message = said(text, file);
      stream.submit({ messages: [message] }, { optimisticValues: show(message) });
    },
    answer: (resume) => stream.submit(undefined, { command: { resume } }),
    resolve: () => stream.submit(undefined, { command: { goto: "__end__" } }),
    stop: () => stream.stop(),
  };
}

function shown(stream, message, index) {
  const { id, type } = message;
  const seen = stream.getMessagesMetadata(message, index);
  const from = { checkpoint: seen?.firstSeenState?.parent_checkpoint };
  const fork = seen?.firstSeenState != null;
  return {
    id, type, text: words(message.content), calls: message.tool_calls,
    edit: fork && type === "human" ? (text) => stream.submit({ messages: [said(text)] }, from) : undefined,
    again: fork && type === "ai" ? () => stream.submit(undefined, from) : undefined,
    branches: branches(stream, seen),
  };
}

function branches(stream, seen) {
  if (!seen?.branchOptions) return undefined;
  const index = seen.branchOptions.indexOf(seen.branch);
  return { index, count: seen.branchOptions.length, go: (step) => stream.setBranch(seen.branchOptions[index + step]) };
}

start(useChat);
