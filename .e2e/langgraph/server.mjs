// A real LangGraph server with the graphs of graph.mjs and deep.mjs:
//
//   node server.mjs [PORT] [GRAPH,GRAPH…]
//
// PORT 0 (the default) selects a free one. When the server is ready it prints one
// line, "listening on http://HOST:PORT". SIGTERM and SIGINT stop it. Its files are
// in a folder that is removed at the end.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const port = Number(process.argv[2] ?? 0);
const names = (process.argv[3] ?? "chat,files,ask,both,many,fail,slow,nested,told,typed,swarm,inner,keeper,deep").split(",");

process.env.LANGSMITH_TRACING = "false";
process.env.LOG_LEVEL ??= "error";

// The folder must be below the parent of node_modules, from which the server
// resolves the packages of the graphs.
mkdirSync(join(here, "..", "tmp"), { recursive: true });
const cwd = mkdtempSync(join(here, "..", "tmp", "langgraph-"));
const fileOf = (name) => relative(cwd, join(here, name === "deep" ? "deep.mjs" : "graph.mjs"));

const options = {
  port,
  nWorkers: 16,
  host: "127.0.0.1",
  cwd,
  graphs: Object.fromEntries(names.map((name) => [name, `${fileOf(name)}:${name}`])),
};

// preload.mjs reads the options from the last argument. Its package does not
// export it, so it is found next to the server.
process.argv.push(JSON.stringify(options));
const serverURL = import.meta.resolve("@langchain/langgraph-api/server");
await import(new URL("./preload.mjs", serverURL));
const { startServer } = await import(serverURL);

const server = await startServer(options);

let stopping = false;
async function stop() {
  if (stopping) return;
  stopping = true;
  await Promise.race([
    server.cleanup().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, 2000)),
  ]);
  rmSync(cwd, { recursive: true, force: true });
  process.exit(0);
}
process.on("SIGTERM", stop);
process.on("SIGINT", stop);

console.log(`listening on http://${server.host}`);
