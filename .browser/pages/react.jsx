// useStream of @langchain/react, which speaks the streaming protocol.
import { useState } from "react";
import { useMessageMetadata, useStream } from "@langchain/react";
import { options, said, start, words } from "./start.jsx";

function useChat() {
  const [threadId, setThread] = useState(options.thread);
  const stream = useStream({
    apiUrl: options.url, assistantId: options.agent, threadId, onThreadId: setThread, transport: options.transport,
  });
  return {
    threadId,
    messages: stream.messages.map((m) => shown(stream, m)),
    questions: stream.interrupts,
    working: stream.isLoading,
    error: stream.error,
    files: Object.keys(stream.values.files ?? {}),
    send: (text, file) => stream.submit({ messages: [said(text, file)] }),
    answer: (value, question) => stream.respond(value, { interruptId: question.id }),
    stop: () => stream.stop(),
  };
}

function shown(stream, message) {
  const type = message.getType();
  return {
    id: message.id, type, text: words(message.content), calls: message.tool_calls,
    useForks() {
      const from = useMessageMetadata(stream, message.id)?.parentCheckpointId;
      return {
        edit: from && type === "human" ? (text) => stream.submit({ messages: [said(text)] }, { forkFrom: from }) : undefined,
        again: from && type === "ai" ? () => stream.submit(null, { forkFrom: from }) : undefined,
      };
    },
  };
}

start(useChat);
