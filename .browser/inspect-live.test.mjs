// Live pages of the inspector that lose their bridge: it restarts behind a proxy that reports this, requires another key, or
// the shown object is deleted. Also covers hidden pages. The test starts its own bridge, agent and proxy.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, until } from "./window.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const keys = ["0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef"];
let browser, proxy, agent, program, folder, file, url, port;
let refuses; // the status that the proxy returns in place of the bridge
let refused = 0; // streams refused in this way, after which an EventSource gives up
let streams = 0; // open streams through the proxy
let release = () => {};

/** A task/step agent whose steps wait for release if the task requests it. */
const serveAgent = () => createServer(async (req, res) => {
  let body = "";
  for await (const part of req) body += part;
  const told = (value) => { res.writeHead(200, { "Content-Type": "application/json" }); res.end(JSON.stringify(value)); };
  const { pathname } = new URL(req.url, "http://agent");
  const pagination = { total_items: 0, total_pages: 0, current_page: 1, page_size: 10 };
  if (pathname.endsWith("/tasks") && req.method === "GET") return told({ tasks: [], pagination });
  if (pathname.endsWith("/tasks")) return told({ task_id: `task ${JSON.parse(body).input}`.replaceAll(" ", "-"), input: JSON.parse(body).input, artifacts: [] });
  if (pathname.endsWith("/artifacts")) return told({ artifacts: [], pagination });
  const [, id] = pathname.match(/tasks\/([^/]+)/) ?? [];
  if (!id) { res.writeHead(404); return res.end("{}"); }
  if (!pathname.endsWith("/steps")) return told({ task_id: id, input: "", artifacts: [] });
  if (id.includes("wait")) await new Promise((r) => { release = r; });
  told({ task_id: id, step_id: "s", status: "completed", output: "done", artifacts: [], is_last: true });
});

const freePort = () => new Promise((resolve) => { const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); }); });
const listening = (server) => new Promise((r) => server.listen(0, "127.0.0.1", () => r(server.address().port)));

async function start(key = keys[0]) {
  writeFileSync(file, JSON.stringify({
    listen: `127.0.0.1:${port}`, database: join(folder, "b.db"), agents: { a: { url: `http://127.0.0.1:${agent.address().port}`, dialect: "taskstep" } },
    auth: { keys: [{ id: "k", key }] },
  }));
  program = spawn(join(here, "tmp/apbridge"), ["serve", "--config", file], { stdio: "ignore" });
  await until(() => fetch(`http://127.0.0.1:${port}/readyz`).then((r) => r.ok, () => false));
}

const stop = () => new Promise((r) => { program.once("exit", r); program.kill("SIGKILL"); });

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "apbridge-inspect-"));
  file = join(folder, "apbridge.yaml");
  agent = serveAgent();
  await listening(agent);
  port = await freePort();
  proxy = createServer((req, res) => {
    if (refuses) { refused += /events$/.test(req.url); res.writeHead(refuses, { "Content-Type": "text/plain" }); return res.end("the proxy says no"); }
    const to = request({ host: "127.0.0.1", port, method: req.method, path: req.url, headers: req.headers }, (from) => { res.writeHead(from.statusCode, from.headers); pipeline(from, res, () => {}); });
    if (/events$/.test(req.url)) { streams++; res.on("close", () => { streams--; }); }
    to.on("error", () => { if (res.headersSent) res.destroy(); else { res.writeHead(502); res.end(); } });
    res.on("close", () => to.destroy());
    req.pipe(to);
  });
  url = `http://127.0.0.1:${await listening(proxy)}`;
  await start();
  browser = await launch();
});
afterEach(() => { refuses = undefined; refused = 0; release(); });
after(async () => {
  await browser?.close();
  program?.kill("SIGKILL");
  for (const server of [agent, proxy]) { server?.closeAllConnections(); server?.close(); }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const headers = { "Content-Type": "application/json", "X-Api-Key": keys[0] };

/** Begins a run on a new thread. */
async function run(content) {
  const at = `http://127.0.0.1:${port}`;
  const { thread_id: thread } = await (await fetch(`${at}/threads`, { method: "POST", headers, body: "{}" })).json();
  const made = await fetch(`${at}/threads/${thread}/runs`, { method: "POST", headers, body: JSON.stringify({ assistant_id: "a", input: { messages: [{ role: "user", content }] } }) });
  assert.equal(made.status, 200);
  return { thread, id: (await made.json()).run_id };
}

/** Opens a live page. */
async function watched(path, body) {
  const context = await browser.newContext({ httpCredentials: { username: "me", password: keys[0] } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(url + path);
    await page.getByText("Live.").waitFor();
    await body(page);
  } finally {
    await context.close();
  }
}

test("a list whose bridge starts again behind a proxy that answers 503 comes back and catches up", async () => {
  await run("one");
  await watched("/inspect", async (page) => {
    refuses = 503;
    await stop();
    await page.getByText("The bridge does not answer; trying again.").waitFor();
    await until(() => refused);
    await start();
    const { id } = await run("two");
    refuses = undefined;
    await page.getByText("Live.").waitFor();
    await page.locator(`tr[data-run="${id}"]`).waitFor();
    assert.equal(await page.locator(`tr[data-run="${id}"] > *`).count(), await page.locator("thead th").count());
  });
});

test("a run whose stream is cut shows what it missed", async () => {
  const { id } = await run("wait");
  await until(() => fetch(`http://127.0.0.1:${port}/inspect/runs/${id}`, { headers }).then(async (r) => (await r.json()).status === "running"));
  await watched(`/inspect/runs/${id}`, async (page) => {
    refuses = 502;
    proxy.closeAllConnections();
    await page.getByText("The bridge does not answer; trying again.").waitFor();
    await until(() => refused);
    release();
    await until(() => fetch(`http://127.0.0.1:${port}/inspect/runs/${id}`, { headers }).then(async (r) => (await r.json()).status === "success"));
    refuses = undefined;
    await page.getByText("It has ended.").waitFor();
    await page.locator("tr.end").waitFor();
    const seqs = await page.locator("tr[data-seq]").evaluateAll((rows) => rows.map((row) => row.dataset.seq));
    assert.deepEqual(seqs, [...new Set(seqs)], "an event stands there twice");
  });
});

test("a page whose key is taken no more says so, and comes back with it", async () => {
  await watched("/inspect", async (page) => {
    refuses = 401;
    proxy.closeAllConnections();
    await page.getByText("The bridge does not accept your key; trying again.").waitFor();
    refuses = undefined;
    await page.getByText("Live.").waitFor();
  });
});

test("a run that is deleted while its stream is down is gone", async () => {
  const { thread, id } = await run("wait for it");
  await watched(`/inspect/runs/${id}`, async (page) => {
    refuses = 502;
    proxy.closeAllConnections();
    await page.getByText("The bridge does not answer; trying again.").waitFor();
    const deleted = fetch(`http://127.0.0.1:${port}/threads/${thread}`, { method: "DELETE", headers });
    release();
    assert.equal((await deleted).status, 204);
    refuses = undefined;
    await page.getByText("This no longer exists.").waitFor();
  });
});

/** Makes a page believe that it is hidden, like a background tab, or visible again. */
const hide = (page, hidden) => page.evaluate((is) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: is });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

test("a list that is out of sight holds no connection, and catches up when it is seen", () => watched("/inspect", async (page) => {
  assert.equal(streams, 1);
  await hide(page, true);
  await until(() => streams === 0);
  const { id } = await run("unseen");
  await hide(page, false);
  await page.locator(`tr[data-run="${id}"]`).waitFor();
  assert.equal(streams, 1);
}));

test("a thread that is seen again has moved on only if it has", async () => {
  const { thread, id } = await run("quiet");
  await until(() => fetch(`http://127.0.0.1:${port}/inspect/runs/${id}`, { headers }).then(async (r) => (await r.json()).status === "success"));
  const context = await browser.newContext({ httpCredentials: { username: "me", password: keys[0] } });
  const page = await context.newPage();
  const told = () => page.evaluate((at) => new Promise((r) => { // the test's own stream, which receives the same as the page's
    const source = new EventSource(at);
    source.addEventListener("changed", () => { source.close(); r(); });
  }), `${url}/inspect/threads/${thread}/events`);
  await page.goto(`${url}/inspect/threads/${thread}`);
  await told();
  await hide(page, true);
  await until(() => streams === 0);
  await hide(page, false);
  await told();
  await told();
  assert.equal(await page.locator("[data-news]").textContent(), "");
  await context.close();
});
