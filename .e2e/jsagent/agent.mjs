// An agent on the official JavaScript SDK (npm agent-protocol) with three steps:
// the second writes an artifact, the third is the last.
//
//   node agent.mjs [PORT]
//
// The request may change this: "fail" fails in the second step, with "slow N"
// the second step takes N milliseconds, "forever" never ends, "no file" writes none.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const { default: Agent, v4 } = createRequire(import.meta.url)("agent-protocol");
const workspace = mkdtempSync(join(tmpdir(), "apbridge-jsagent-"));

function uploads(taskID) {
  const folder = join(workspace, taskID);
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name}=${readFileSync(join(folder, entry.name), "utf8")}`);
}

function write(taskID, name, text) {
  const folder = join(workspace, taskID, "out");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  return {
    artifact_id: v4(),
    agent_created: true,
    file_name: name,
    relative_path: "out",
    created_at: new Date().toISOString(),
  };
}

async function taskHandler(taskID, input) {
  // The current request, which the conversation so far may precede.
  const now = (input ?? "").split("Current request:\n").at(-1);
  let n = 0;
  return async (said) => {
    n += 1;
    await pause(Number(process.env.E2E_STEP_MS ?? 0)); // for clients that expect a slow agent
    if (n === 1) {
      const given = uploads(taskID).join(" ");
      return { name: "think", output: `asked: ${input}${given && ` given: ${given}`}` };
    }
    if (now.includes("forever")) return { name: "again", output: `round ${n}` };
    if (n === 2) {
      if (now.includes("fail")) throw new Error("the agent failed on purpose");
      const ms = Number(/slow (\d+)/.exec(now)?.[1] ?? 0);
      if (ms > 0) await pause(ms);
      if (now.includes("no file")) return { name: "write", output: "wrote nothing" };
      const file = write(taskID, "result.txt", `result of ${now}`);
      return { name: "write", output: `wrote ${file.file_name}`, artifacts: [file] };
    }
    return { name: "finish", output: said ? `done, you said ${said}` : "done", is_last: true };
  };
}

const server = Agent.handleTask(taskHandler, { workspace })
  .build()
  .listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
    console.log(`listening on http://127.0.0.1:${server.address().port}`);
  });

function stop() {
  rmSync(workspace, { recursive: true, force: true });
  process.exit(0);
}
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
