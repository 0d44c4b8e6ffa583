// Tests stock clients in headless Chromium. Starts agents, the bridge and a server for the clients' pages on free loopback
// ports, runs rows.test.mjs and the tests of examples/chat, the bridge's own pages and its inspector, and always stops everything.
//
//   node run.mjs BINARY [--update] [CLIENT…]
//
// Names of clients (clients.mjs) select clients. BROWSER_FILES="inspect inspect-run" selects test files. --update writes the compatibility page and removes entries that now work
// from expected.json. BROWSER_DIRECT=1 uses the LangGraph server without the bridge: failures that expected.json does not
// attribute to the bridge must then occur, and other failures are printed. BROWSER_ROWS=WORD selects rows by a word in their
// names. E2E_VERBOSE=1 shows the output of agents and bridge.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bridge, freePort, peer } from "../.e2e/peers.mjs";
import { exitWith, suite } from "../.e2e/suite.mjs";
import { example } from "./example.mjs";
import { pages } from "./pages.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const e2e = join(here, "../.e2e");
const [binary, ...rest] = process.argv.slice(2);
const only = rest.filter((word) => word !== "--update");
const graphs = ["chat", "files", "ask", "fail", "slow", "spoken"];
const chosen = process.env.BROWSER_FILES?.split(" ");
const direct = Boolean(process.env.BROWSER_DIRECT);
const rowsAlone = direct || only.length > 0 || Boolean(process.env.BROWSER_ROWS);
const folder = mkdtempSync(join(tmpdir(), "apbridge-browser-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** The bridge's configuration with all agents, which allows web pages of this machine. */
function config({ js, autogpt, langgraph }) {
  const graph = (assistant) => ({ url: langgraph, dialect: "threadrun", assistant });
  const agents = {
    jsagent: { url: js, dialect: "taskstep" },
    autogpt: { url: autogpt, dialect: "taskstep" },
    careful: { url: autogpt, dialect: "taskstep", approval: "ask" },
  };
  for (const name of graphs) agents[name] = graph(name);
  return { database: join(folder, "browser.db"), default_agent: "jsagent", agents, cors: { origins: ["loopback"] } };
}

async function main() {
  // @langchain/react subscribes twice over a WebSocket. If a run ends before the second subscription, which carries the
  // messages, it does not assign them to that run. No agent with a model is that fast.
  process.env.E2E_STEP_MS ??= "50";
  const [js, autogpt, langgraph, site, chat] = await Promise.all([
    peer("jsagent", join(e2e, "jsagent/agent.mjs")),
    peer("autogpt", join(e2e, "autogpt/agent.mjs")),
    peer("langgraph", join(e2e, "langgraph/server.mjs"), "0", graphs.join()),
    pages(join(here, "tmp/pages")),
    rowsAlone ? "" : example(folder),
  ]);
  const file = join(folder, "apbridge.yaml");
  writeFileSync(file, JSON.stringify(config({ js, autogpt, langgraph }), null, 2)); // JSON is YAML
  const { url, child } = await bridge(binary, ["--config", file], await freePort());
  const env = { BROWSER_BRIDGE: direct ? langgraph : url, BROWSER_PAGES: site.url, BROWSER_EXAMPLE: chat, BROWSER_CLIENTS: only.join("|"), BROWSER_UPDATE: rest.includes("--update") ? "1" : "" };
  const files = (...names) => names.map((name) => join(here, `${name}.test.mjs`));
  // Concurrently with the rows: pages that do not change, and tests with their own bridge. Separately: lists of this bridge's runs, and measurements.
  const asked = (...names) => files(...names.filter((name) => !chosen || chosen.includes(name)));
  const beside = rowsAlone ? files("rows") : asked("rows", "front", "inspect-run", "inspect-live", "inspect-compare", "example");
  const code = await suite(child, rowsAlone ? [] : asked("inspect", "inspect-thread", "inspect-long"), env, 600_000, beside);
  site.close();
  return code;
}

await exitWith(main);
