/** The text of a message's content, which is a string or a list of parts. */
export function words(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

// Parts that are no files: reasoning, and the SDK's copies of a message's tool calls.
const others = ["text", "reasoning", "tool_call", "tool_call_chunk", "invalid_tool_call"];

/** The names of the files in a content. */
export function attached(content) {
  if (!Array.isArray(content)) return [];
  return content.filter((part) => !others.includes(part.type)).map((part) => part.metadata?.filename ?? part.type);
}
