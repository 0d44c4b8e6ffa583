// What a page was asked for in its address, and the words that all clients share.
import { createRoot } from "react-dom/client";
import { View } from "./view.jsx";

const asked = new URL(location.href).searchParams;

export const options = {
  url: asked.get("url"),
  agent: asked.get("agent"),
  transport: asked.get("transport") ?? "sse",
  thread: asked.get("thread"),
};

/** Shows the chat that a hook gives. */
export function start(useChat, Around = ({ children }) => children) {
  const Page = () => <View chat={useChat()} />;
  createRoot(document.getElementById("page")).render(<Around><Page /></Around>);
}

/** What a person said, as chat pages send it: a file is a block of the content. */
export function said(text, file) {
  const content = file ? [{ type: "text", text }, fileBlock(file)] : text;
  return { type: "human", id: crypto.randomUUID(), content };
}

const fileBlock = ({ name, mimeType, data }) => ({ type: "file", mimeType, data, metadata: { filename: name } });

/** The words of a content, which is a text or a list of blocks. */
export function words(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((block) => block.text ?? "").join("");
}
