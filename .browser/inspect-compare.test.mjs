// Two runs in the inspector, compared as users do: found from a run that repeats another, at every width, light and dark,
// without scripts, and checked by axe. The test starts its own bridge and agents. BROWSER_PICTURES=1 creates the picture
// of docs/inspector.md.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, launch, picture, shown as open, sticksOut, unfold, until } from "./window.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const hostile = `<script>document.title="taken"</script>\u202e`;
let browser, bridge, program, folder, servers;
let first, second, failed; // runs: the second repeats the first

/** The nodes that a run takes, with the time in ms and the message of each. */
const swift = [
  ["plan", 60, { type: "ai", content: "I look for plants first.", tool_calls: [{ id: "c1", name: "search", args: { query: "plants that like shade" } }], usage_metadata: { input_tokens: 120, output_tokens: 30, total_tokens: 150 } }],
  ["tools", 90, { type: "tool", tool_call_id: "c1", content: "fern, hosta, ivy" }],
  ["answer", 120, { type: "ai", content: "Plant ferns and hostas along the wall, and keep the soil moist until June.", usage_metadata: { input_tokens: 210, output_tokens: 44, total_tokens: 254 } }],
];
const thorough = [
  ["plan", 110, { type: "ai", content: "I look for plants first.", tool_calls: [{ id: "c9", name: "search", args: { query: "plants that like shade and clay" } }], usage_metadata: { input_tokens: 120, output_tokens: 34, total_tokens: 154 } }],
  ["tools", 80, { type: "tool", tool_call_id: "c9", content: "fern, hosta, ivy" }],
  ["check", 140, { type: "ai", content: "Ivy is too strong for a small garden.", usage_metadata: { input_tokens: 260, output_tokens: 21, total_tokens: 281 } }],
  ["answer", 160, { type: "ai", content: "Plant ferns and hostas along the fence, and keep the soil loose and moist until June.", usage_metadata: { input_tokens: 300, output_tokens: 48, total_tokens: 348 } }],
];

/** A thread/run agent that takes these steps, or answers "fail" with a harmful text. */
function serveAgent(steps) {
  return createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    const told = (value) => { res.writeHead(200, { "Content-Type": "application/json" }); res.end(JSON.stringify(value)); };
    const { pathname } = new URL(req.url, "http://agent");
    const messages = body.includes("content") ? [{ id: "m0", type: "human", content: /"content":"([^"]*)"/.exec(body)[1] }] : [];
    const state = () => ({ values: { messages }, next: [], tasks: [], metadata: { step: messages.length, source: "loop" }, checkpoint: { checkpoint_id: "2", checkpoint_ns: "" } });
    if (pathname === "/ok") return told({ ok: true });
    if (pathname === "/assistants/search") return told([{ assistant_id: "fe096781-5601-53d2-b2f6-0d3403f7e9ca", graph_id: "agent", name: "agent" }]);
    if (pathname === "/threads") return told({ thread_id: crypto.randomUUID() });
    if (pathname.endsWith("/state")) return told(state());
    if (!pathname.endsWith("/runs/stream")) { res.writeHead(404); return res.end("{}"); }
    const run_id = crypto.randomUUID();
    res.writeHead(200, { "Content-Type": "text/event-stream", "Content-Location": `${pathname.replace("/stream", "")}/${run_id}` });
    const tell = (event, data) => res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    tell("metadata", { run_id, attempt: 1 });
    if (body.includes("fail")) {
      tell("error", { error: "Broken", message: hostile });
      return res.end();
    }
    for (const [node, ms, said] of steps) {
      await new Promise((r) => setTimeout(r, ms)); // the time that is compared
      messages.push({ id: `m${messages.length}`, ...said });
      tell("updates", { [node]: { messages: messages.slice(-1) } });
    }
    tell("values", state().values);
    tell("checkpoints", state());
    return res.end();
  });
}

const freePort = () => new Promise((resolve) => { const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); }); });
const json = async (path) => (await fetch(bridge + path)).json();
const ended = (id) => until(async () => !["pending", "running"].includes((await json(`/inspect/runs/${id}`)).status));

/** Runs an agent on a new thread to its end. */
async function run(assistant_id, content) {
  const answer = await fetch(`${bridge}/threads/${crypto.randomUUID()}/runs`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ assistant_id, if_not_exists: "create", input: { messages: [{ role: "user", content }] } }) });
  const { run_id } = await answer.json();
  await ended(run_id);
  return run_id;
}

/** Repeats a run with another agent as the form does. */
async function again(id, agent) {
  const answer = await fetch(`${bridge}/inspect/runs/${id}/again`, { method: "POST", body: new URLSearchParams({ agent, where: "new", sure: "yes" }) });
  const { run_id } = await answer.json();
  await ended(run_id);
  return run_id;
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "apbridge-compare-"));
  servers = [serveAgent(swift), serveAgent(thorough)];
  for (const server of servers) await new Promise((r) => server.listen(0, "127.0.0.1", r));
  const port = await freePort();
  bridge = `http://127.0.0.1:${port}`;
  const [a, b] = servers.map((server) => ({ url: `http://127.0.0.1:${server.address().port}`, dialect: "threadrun" }));
  const file = join(folder, "apbridge.yaml");
  writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, database: join(folder, "b.db"), inspector: { capture: "all" }, default_agent: "swift", agents: { swift: a, thorough: b } }));
  program = spawn(join(here, "tmp/apbridge"), ["serve", "--config", file], { stdio: "ignore" });
  for (let up = false; !up;) up = await fetch(`${bridge}/readyz`).then((r) => r.ok, () => false);
  for (const agent of ["swift", "thorough"]) await run(agent, "hello"); // a first call of an agent takes longer
  first = await run("swift", "Plan a garden in the shade");
  second = await again(first, "thorough");
  failed = await run("swift", "fail");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  program?.kill();
  for (const server of servers ?? []) { server.closeAllConnections(); server.close(); }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const shown = (path, options, body, expected) => open(browser, bridge + path, options, body, expected);
const compared = (a, b) => `/inspect/compare?a=${a}&b=${b}`;

for (const javaScriptEnabled of [true, false]) {
  test(`a run that repeats another is compared with it by one click, ${javaScriptEnabled ? "with" : "without"} scripts`, () => shown(`/inspect/runs/${second}`, { javaScriptEnabled, viewport: { width: 1280, height: 900 } }, async (p) => {
    await p.getByRole("link", { name: "Compare with the run that it repeats" }).click();
    await p.getByRole("heading", { level: 1, name: "Compare two runs" }).waitFor();
    assert.ok(p.url().endsWith(compared(first, second)), p.url());
    assert.match(await p.locator(".summary").textContent(), /^Both succeeded with different answers\. b was .* slower, with 1 step more\.$/);
    assert.deepEqual(await p.locator(".pair.same .said").allTextContents(), ["Plan a garden in the shade", "fern, hosta, ivy"]);
    assert.deepEqual(await p.locator(".pair.only_b .said").allTextContents(), ["Ivy is too strong for a small garden."]);
    assert.deepEqual(await p.locator(".of-a .said mark").allTextContents(), ["wall"]);
    assert.deepEqual(await p.locator(".of-b .said mark").allTextContents(), ["fence", " loose and"]);
    assert.deepEqual(await p.locator(".of-b pre mark").allTextContents(), [" and clay"]);
    const [[a, b]] = await p.locator(".tracks", { has: p.getByText("answer", { exact: true }) }).evaluateAll((list) => list.map((e) => [...e.querySelectorAll("rect")].map((r) => r.getBoundingClientRect().left)));
    assert.ok(b > a, `the answer of a begins at ${a}, that of b at ${b}`);
  }));

  test(`a run is compared with one of the same request, and with one that is named, ${javaScriptEnabled ? "with" : "without"} scripts`, () => shown(`/inspect/runs/${first}`, { javaScriptEnabled }, async (p) => {
    await p.getByText("Compare with …").click();
    await p.getByRole("link", { name: /^Run of thorough/ }).click();
    assert.ok(p.url().endsWith(compared(first, second)), p.url());
    await p.goBack();
    await unfoldOnly(p);
    await p.getByRole("textbox", { name: "Id of another run" }).fill(failed);
    await p.getByRole("button", { name: "Compare" }).click();
    await p.getByText("The runs got different inputs.").waitFor();
    assert.match(await p.locator(".summary").textContent(), /^a succeeded and b failed\. /);
    assert.doesNotMatch(await p.title(), /taken/);
    await p.getByRole("link", { name: "Swap a and b" }).click();
    assert.match(await p.locator(".summary").textContent(), /^a failed and b succeeded\. /);
  }));
}

test("the link to a comparison is copied", () => shown(compared(first, second), { permissions: ["clipboard-read", "clipboard-write"] }, async (p) => {
  await p.getByRole("button", { name: "Copy link" }).press("Enter");
  await p.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await p.evaluate(() => navigator.clipboard.readText()), bridge + compared(first, second));
}));

/** Opens the list of other runs if it is closed, as it is after going back without scripts. */
const unfoldOnly = async (p) => {
  const field = p.getByRole("textbox", { name: "Id of another run" });
  if (!await field.isVisible()) await p.getByText("Compare with …").click();
};

for (const width of [320, 800, 1280, 1920]) {
  test(`fits ${width} pixels, with words of 64 letters`, async () => {
    for (const path of [compared(first, second), compared(second, failed), `/inspect/runs/${second}`]) await shown(path, { viewport: { width, height: 800 } }, async (p) => {
      await unfold(p);
      await p.evaluate(() => document.querySelectorAll("bdi, mark, .tracks .name").forEach((e) => { e.textContent += "W".repeat(64); }));
      assert.deepEqual(await sticksOut(p), { wide: false, out: [] }, path);
    });
  });
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [320, 1280]) {
    test(`has nothing that axe finds, ${colorScheme}, ${width} pixels`, async () => {
      for (const path of [compared(first, second), compared(failed, second), compared(first, first), compared(first, "nothing"), `/inspect/runs/${second}`]) {
        await shown(path, { colorScheme, viewport: { width, height: 800 } }, (p) => accessible(p, colorScheme), /status of 404/);
      }
    });
  }
}

test("two runs are pictured", () => shown(compared(first, second), { viewport: { width: 1280, height: 1000 } }, (p) => picture(p, "compare")));
