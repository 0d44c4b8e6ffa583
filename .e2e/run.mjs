// The end-to-end tests. Starts real peers and the bridge on free loopback ports, runs
// the tests, and always stops everything.
//
//   node run.mjs BINARY [TEST FILE…]
//
// Without files all tests run, starting with the Go tests against the LangGraph server and the SDK's agent.
// E2E_VERBOSE=1 shows the output of peers and bridge.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bridge, freePort, peer, program, run } from "./peers.mjs";
import { exitWith, suite } from "./suite.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const [binary, ...only] = process.argv.slice(2);
const tests = only.length > 0 ? only : ["a2a.mjs", "a2a-face.mjs", "agentstore.mjs", "beats.mjs", "forward.mjs", "inner.mjs", "input.mjs", "look.mjs", "methods.mjs", "plain.mjs", "remote.mjs", "reverse.mjs", "same.mjs", "stock.mjs", "streaming.mjs", "subagents.mjs", "challenge.mjs", "approval.mjs", "docs.mjs"].map((f) => join(here, f));
const folder = mkdtempSync(join(tmpdir(), "apbridge-e2e-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** The bridge's configuration: every agent under a name of its own. */
function config({ js, autogpt, langgraph, a2a }) {
  const graph = (name, more = {}) => ({ url: langgraph, dialect: "threadrun", assistant: name, ...more });
  const agents = {
    jsagent: { url: js, dialect: "auto" },
    autogpt: { url: `${autogpt}/ap/v1/agent`, dialect: "taskstep" },
    careful: { url: autogpt, dialect: "taskstep", approval: "ask" },
    chat: graph("chat", { dialect: "auto" }),
    files: graph("files"),
    ask: graph("ask"),
    both: graph("both"),
    many: graph("many"),
    fail: graph("fail"),
    slow: graph("slow"),
    nested: graph("nested"),
    told: graph("told"),
    typed: graph("typed"),
    swarm: graph("swarm"),
    inner: graph("inner"),
    deep: graph("deep"),
    keeper: graph("keeper"),
    lockstep: graph("files", { stepping: { mode: "lockstep" } }),
    whole: graph("files", { stepping: { mode: "run" } }),
    ...Object.fromEntries(Object.entries(a2a).map(([name, url]) => [name, { url, dialect: "a2a" }])),
    away: { url: "http://127.0.0.1:9", dialect: "taskstep" },
  };
  return { database: join(folder, "e2e.db"), default_agent: "jsagent", agents, webhooks: { allow_private_networks: true }, cors: { origins: ["https://smith.langchain.com"] } };
}

/** Starts a bridge that requires a key and returns its URL. */
async function keyed({ autogpt }, key) {
  const file = join(folder, "keyed.yaml");
  const settings = { database: join(folder, "keyed.db"), auth: { keys: [{ id: "page", key }] }, agents: { autogpt: { url: autogpt, dialect: "taskstep" } } };
  writeFileSync(file, JSON.stringify(settings));
  return (await bridge(binary, ["--config", file], await freePort())).url;
}

/** Starts a bridge that uses the store of its agent and returns its URL. */
async function storing({ langgraph }) {
  const file = join(folder, "storing.yaml");
  const settings = { database: join(folder, "storing.db"), store: { agent: "keeper" }, agents: { keeper: { url: langgraph, dialect: "threadrun" } } };
  writeFileSync(file, JSON.stringify(settings));
  return (await bridge(binary, ["--config", file], await freePort())).url;
}

/** A2A agents on both SDKs, in each variant; their URLs by name. */
async function a2aAgents() {
  const module = join(here, "a2ago"), built = join(here, "tmp", "a2ago");
  if ((await run("go", ["build", "-o", built, "."], {}, module)) !== 0) throw new Error("the A2A agent in Go cannot be built");
  const variants = { "": "jsonrpc", rest: "rest", old: "0.3", oldrest: "0.3rest" };
  const started = Object.entries(variants).flatMap(([name, variant]) => [
    [`a2ajs${name}`, peer(`a2ajs${name}`, join(here, "a2ajs/agent.mjs"), "0", variant)],
    [`a2ago${name}`, program(`a2ago${name}`, "listening on ", built, [variant])],
  ]);
  return Object.fromEntries(await Promise.all(started.map(async ([name, url]) => [name, await url])));
}

async function main() {
  const [js, autogpt, langgraph, a2a] = await Promise.all([
    peer("jsagent", join(here, "jsagent/agent.mjs")),
    peer("autogpt", join(here, "autogpt/agent.mjs")),
    peer("langgraph", join(here, "langgraph/server.mjs")),
    a2aAgents(),
  ]);
  const file = join(folder, "apbridge.yaml");
  writeFileSync(file, JSON.stringify(config({ js, autogpt, langgraph, a2a }), null, 2)); // JSON is YAML
  const { url, child } = await bridge(binary, ["--config", file], await freePort());
  const key = "the key of a page, 24 letters + more";
  const env = { E2E_BRIDGE: url, E2E_KEYED: await keyed({ autogpt }, key), E2E_KEY: key, E2E_STORE: await storing({ langgraph }), E2E_JSAGENT: js, E2E_AUTOGPT: autogpt, E2E_LANGGRAPH: langgraph, E2E_PROGRAM: binary, E2E_A2A: JSON.stringify(a2a) };
  if (only.length === 0) {
    const packages = ["./adapter/threadrun/backend", "./cmd/apbridge/internal/rig/threadrun", "./cmd/apbridge/internal/conformance"];
    const tested = await run("go", ["test", "-count=1", "-run", "^TestReal", ...packages], { APBRIDGE_E2E_LANGGRAPH: langgraph, APBRIDGE_E2E_JSAGENT: js }, join(here, ".."));
    if (tested !== 0) return tested;
    const clients = await run("go", ["test", "-count=1", "./..."], env, join(here, "a2ago"));
    if (clients !== 0) return clients;
  }
  return suite(child, [], env, 240_000, tests); // two at a time, since they mostly wait
}

await exitWith(main);
