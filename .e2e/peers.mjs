// Starts and reliably stops the processes that the end-to-end tests need.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const running = new Set();

/** Spawns a process that is stopped with this one. Its output goes to our stderr when verbose. */
function launch(name, command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  child.name = name;
  child.group = options.detached;
  child.tail = [];
  running.add(child);
  child.on("exit", () => running.delete(child));
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      child.tail.push(line);
      if (child.tail.length > 40) child.tail.shift();
      if (process.env.E2E_VERBOSE) process.stderr.write(`[${name}] ${line}\n`);
    });
  }
  return child;
}

function died(child) {
  return new Error(`${child.name} ended with ${child.exitCode ?? child.signalCode}:\n${child.tail.join("\n")}`);
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a node script that prints "listening on URL" and returns the URL. */
export function peer(name, script, ...args) {
  return program(name, "listening on ", process.execPath, [script, ...args]);
}

/**
 * Starts a program, waits for a line with this beginning, and returns the rest of the line. With the option detached the
 * program is stopped with all its children, since npm leaves its script behind. patience is in milliseconds.
 */
export async function program(name, begin, command, args, { patience = 90_000, ...options } = {}) {
  const child = launch(name, command, args, options);
  const deadline = Date.now() + patience;
  while (Date.now() < deadline) {
    if (child.exitCode != null || child.signalCode != null) throw died(child);
    const line = child.tail.find((l) => l.startsWith(begin));
    if (line) return line.slice(begin.length);
    await pause(50);
  }
  throw new Error(`${name} did not start in time:\n${child.tail.join("\n")}`);
}

/** Starts the bridge and waits until it is ready. */
export async function bridge(binary, args, port) {
  const child = launch("apbridge", binary, ["serve", ...args, "--listen", `127.0.0.1:${port}`, "--log-level", "warn"], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("APBRIDGE_"))),
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    if (child.exitCode != null || child.signalCode != null) throw died(child);
    const ready = await fetch(`${url}/readyz`).then((r) => r.status === 200, () => false);
    if (ready) return { url, child };
    await pause(50);
  }
  throw new Error(`apbridge was not ready in time:\n${child.tail.join("\n")}`);
}

/** Runs a command with our output and returns its exit code. */
export async function run(command, args, env, cwd) {
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env }, cwd });
  running.add(child);
  const [code] = await once(child, "exit");
  running.delete(child);
  return code ?? 1;
}

/** Signals a process or its whole group. */
function signal(child, name) {
  if (child.group) process.kill(-child.pid, name);
  else child.kill(name);
}

/** Stops a process with SIGTERM, then SIGKILL. Returns its exit code, or null if it had to be killed. */
export async function stop(child, patience = 8000) {
  if (child.exitCode != null || child.signalCode != null) return child.exitCode;
  const gone = once(child, "exit");
  signal(child, "SIGTERM");
  const insist = setTimeout(() => signal(child, "SIGKILL"), patience);
  const [code] = await gone;
  clearTimeout(insist);
  return code;
}

/** Stops all processes that are still running. */
export async function stopAll() {
  await Promise.all([...running].map((child) => stop(child)));
}

process.on("exit", () => {
  for (const child of running) signal(child, "SIGKILL");
});
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(name, () => stopAll().finally(() => process.exit(130)));
}
