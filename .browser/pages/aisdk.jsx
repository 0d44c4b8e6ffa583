// The AI SDK over @ai-sdk/langchain's transport, which sends the whole conversation in each input, without a thread.
import { AbstractChat } from "ai";
import { LangSmithDeploymentTransport } from "@ai-sdk/langchain";
import { options, start } from "./start.jsx";
import { useModel } from "./model.jsx";

class Chat extends AbstractChat {}

/** The state that AbstractChat writes into; show is called at each change. */
function state(show) {
  const kept = { status: "ready", error: undefined, messages: [] };
  return new Proxy(
    {
      pushMessage: (m) => (kept.messages = [...kept.messages, m], show()),
      popMessage: () => (kept.messages = kept.messages.slice(0, -1), show()),
      replaceMessage: (i, m) => (kept.messages = kept.messages.with(i, structuredClone(m)), show()),
      snapshot: (thing) => structuredClone(thing),
    },
    {
      get: (own, key) => own[key] ?? kept[key],
      set: (_, key, value) => (kept[key] = value, show(), true),
    },
  );
}

const model = { chat: null };
const types = { user: "human", assistant: "ai" };

/** An answer is one message of several parts: each text is shown as one of its own. */
function shown(message) {
  const texts = message.parts.filter((part) => part.type === "text");
  const tools = message.parts.filter((part) => part.type === "dynamic-tool" || part.type.startsWith("tool-"));
  const list = texts.map((part, i) => ({ id: `${message.id}/${i}`, type: types[message.role], text: part.text, calls: [] }));
  if (tools.length > 0) list.push({ id: `${message.id}/tools`, type: "tools", text: "", calls: tools.map((part) => ({ id: part.toolCallId, name: part.toolName ?? part.type.slice(5) })) });
  return list;
}

function useChat() {
  const [, changed] = useModel(model);
  model.chat ??= new Chat({
    transport: new LangSmithDeploymentTransport({ url: options.url, graphId: options.agent }),
    state: state(() => queueMicrotask(() => changed({}))),
  });
  const { chat } = model;
  return {
    messages: chat.messages.flatMap(shown),
    questions: [],
    working: chat.status === "submitted" || chat.status === "streaming",
    error: chat.error,
    send: (text, file) => chat.sendMessage({ text, files: file && [{ type: "file", mediaType: file.mimeType, filename: file.name, url: `data:${file.mimeType};base64,${file.data}` }] }),
  };
}

start(useChat);
