// The clients, by their names on the compatibility page.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const version = (name) => require(`./node_modules/${name}/package.json`).version;

const branch = "edit a later message, switch the branch";
const edit = "edit a later message";
const first = "edit the first message";
const again = "regenerate";
const drop = "question dropped (\"Mark as resolved\")";
const reloads = ["reload: the same messages", "reload while a run works", "question still there after a reload"];
const cut = "connection lost: continues, nothing twice";
const files = "files of the agent";

// page is its file in pages/, sdk the package that it has for "langgraph-sdk", query what is added to its address, lacks
// the behaviours that it does not have or its page does not use; asksSchemas: it begins with a graph's schemas.
// What a client shows in a way of its own: alertless are the kinds of agents whose errors it shows as messages alone,
// hidesAnswers that what a person answers is no message of its page, namesFiles how it names the files that it sends.
export const clients = {
  "useStream": {
    page: "hook", sdk: "@langchain/langgraph-sdk", package: "@langchain/langgraph-sdk", version: version("@langchain/langgraph-sdk"),
    lacks: [edit],
  },
  "@langchain/react": {
    page: "react", package: "@langchain/react", version: version("@langchain/react"),
    lacks: [branch, drop],
  },
  "@langchain/react, WebSocket": {
    page: "react", query: { transport: "websocket" }, package: "@langchain/react", version: version("@langchain/react"),
    lacks: [branch, drop],
  },
  "assistant-ui": {
    page: "assistant", package: "@assistant-ui/react-langgraph", version: version("@assistant-ui/react-langgraph"),
    alertless: ["step"], hidesAnswers: true,
    lacks: [branch, ...reloads, cut, files],
  },
  "RemoteGraph": {
    page: "remote", package: "@langchain/langgraph", version: version("@langchain/langgraph"),
    lacks: [branch, edit, first, again, "stop", reloads[1], cut],
  },
  "AG-UI": {
    page: "agui", asksSchemas: true, package: "@ag-ui/langgraph", version: version("@ag-ui/langgraph"),
    namesFiles: "[0-9a-f-]{36}\\.txt", // its message's id
    lacks: [branch, edit, first, again, drop, ...reloads, cut],
  },
  "AI SDK": {
    page: "aisdk", package: "@ai-sdk/langchain", version: version("@ai-sdk/langchain"),
    lacks: [branch, edit, first, again, drop, ...reloads, cut, files, "stop", "question shown and answered", "question answered in the chat box", "command approved", "command rejected"],
  },
};
