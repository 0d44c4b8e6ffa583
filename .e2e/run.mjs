// The end-to-end tests: real peers and the bridge on free loopback ports, then
// the tests, then everything stopped, whatever happened.
//
//   node run.mjs BINARY [TEST FILE…]
//
// Without files all tests run, those of Go against the LangGraph server first.
// E2E_VERBOSE=1 shows what peers and bridge print.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bridge, freePort, peer, run, stop, stopAll } from "./peers.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const [binary, ...only] = process.argv.slice(2);
const tests = only.length > 0 ? only : ["beats.mjs", "forward.mjs", "methods.mjs", "modes.mjs", "plain.mjs", "remote.mjs", "reverse.mjs", "same.mjs", "streaming.mjs", "subagents.mjs", "challenge.mjs"].map((f) => join(here, f));
const folder = mkdtempSync(join(tmpdir(), "apbridge-e2e-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** The bridge's configuration: every agent under a name of its own. */
function config({ js, autogpt, langgraph }) {
  const graph = (name, more = {}) => ({ url: langgraph, dialect: "threadrun", assistant: name, ...more });
  const agents = {
    jsagent: { url: js, dialect: "auto" },
    autogpt: { url: `${autogpt}/ap/v1/agent`, dialect: "taskstep" },
    careful: { url: autogpt, dialect: "taskstep", approval: "ask" },
    chat: graph("chat", { dialect: "auto" }),
    files: graph("files"),
    ask: graph("ask"),
    fail: graph("fail"),
    slow: graph("slow"),
    nested: graph("nested"),
    lockstep: graph("files", { stepping: { mode: "lockstep" } }),
    whole: graph("files", { stepping: { mode: "run" } }),
    away: { url: "http://127.0.0.1:9", dialect: "taskstep" },
  };
  return { database: join(folder, "e2e.db"), default_agent: "jsagent", agents };
}

async function main() {
  const [js, autogpt, langgraph] = await Promise.all([
    peer("jsagent", join(here, "jsagent/agent.mjs")),
    peer("autogpt", join(here, "autogpt/agent.mjs")),
    peer("langgraph", join(here, "langgraph/server.mjs")),
  ]);
  const file = join(folder, "apbridge.yaml");
  writeFileSync(file, JSON.stringify(config({ js, autogpt, langgraph }), null, 2)); // JSON is YAML
  const { url, child } = await bridge(binary, ["--config", file], await freePort());
  const env = { E2E_BRIDGE: url, E2E_JSAGENT: js, E2E_AUTOGPT: autogpt, E2E_LANGGRAPH: langgraph, E2E_BENCHMARK: join(here, "tmp/benchmark") };
  if (only.length === 0) {
    const packages = ["./adapter/threadrun/backend", "./cmd/apbridge/internal/rig/threadrun"];
    const tested = await run("go", ["test", "-count=1", "-run", "^TestReal", ...packages], { APBRIDGE_E2E_LANGGRAPH: langgraph }, join(here, ".."));
    if (tested !== 0) return tested;
  }
  const reporter = process.stdout.isTTY ? "spec" : "tap";
  const args = ["--test", "--test-concurrency=1", "--test-timeout=240000", `--test-reporter=${reporter}`, ...tests];
  const code = await run(process.execPath, args, env);
  const left = await stop(child);
  if (left !== 0) {
    console.error(`apbridge did not stop cleanly (exit ${left}):\n${child.tail.join("\n")}`);
    return 1;
  }
  if (code !== 0) console.error(`last lines of the bridge:\n${child.tail.join("\n")}`);
  return code;
}

let code = 1;
try {
  code = await main();
} catch (err) {
  console.error(err.message);
} finally {
  await stopAll();
}
process.exit(code);
