// A run in the inspector as a person sees it: live, failed, with files, from an agent that says what is not to be believed. The
// bridge and the agent are the test's own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, launch, picture, shown as open, sticksOut, unfold } from "./window.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const hostile = `<script>document.title="taken"</script>\u202e\u001b[31m`;
const page = `${hostile}<img src=x onerror=alert(1)>`;
let browser, bridge, agent, program, folder;
let release; // lets the step that is asked for be answered

/** A task/step agent: "wait" has each step wait for release, "fail" fails, all else writes a file that is a page, and says a long line. */
function serveAgent() {
  const tasks = new Map();
  const told = (res, status, body) => { res.writeHead(status, { "Content-Type": "application/json" }); res.end(JSON.stringify(body)); };
  return createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    const path = new URL(req.url, "http://agent").pathname;
    const [, id, part] = path.match(/^\/ap\/v1\/agent\/tasks\/?([^/]*)\/?(.*)$/) ?? [];
    const task = tasks.get(id);
    if (id === "" && req.method === "POST") {
      const fresh = { task_id: `task-${tasks.size}`, input: JSON.parse(body).input ?? "", artifacts: [], steps: 0 };
      tasks.set(fresh.task_id, fresh);
      return told(res, 200, fresh);
    }
    if (id === "") return told(res, 200, { tasks: [], pagination: { total_items: 0, total_pages: 0, current_page: 1, page_size: 10 } });
    if (!task) return told(res, 404, { detail: "none" });
    const file = { artifact_id: "a", agent_created: true, file_name: "page.html", relative_path: null };
    if (part === "artifacts") return told(res, 200, { artifacts: task.artifacts, pagination: { total_items: 1, total_pages: 1, current_page: 1, page_size: 10 } });
    if (part.startsWith("artifacts/")) { res.writeHead(200, { "Content-Type": "text/html" }); return res.end(page); }
    if (part !== "steps" || req.method !== "POST") return told(res, 200, task);
    if (task.input.includes("fail")) return told(res, 500, { detail: hostile });
    if (task.input.includes("wait")) await new Promise((r) => { release = r; });
    task.steps++;
    const last = task.steps === 3, said = task.input.includes("garden") ? `Bed ${task.steps} has ferns and hostas.` : task.steps === 2 ? "x".repeat(1 << 20) : `${hostile} step ${task.steps}`;
    if (last && !task.input.includes("wait")) task.artifacts = [file];
    told(res, 200, { task_id: id, step_id: `s${task.steps}`, name: "work", status: "completed", output: said, artifacts: last ? task.artifacts : [], is_last: last });
  });
}

/** What a run of the agent says, recorded: another agent answers from it. */
const record = (from, to) => new Promise((done, failed) => {
  spawn(join(here, "tmp/apbridge"), ["run", from, "Plan a garden", "--record", to], { stdio: "ignore" })
    .on("error", failed).on("exit", (code) => (code === 0 ? done() : failed(new Error(`recording ended with ${code}`))));
});

const freePort = () => new Promise((resolve) => { const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); }); });

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "apbridge-inspect-"));
  agent = serveAgent();
  await new Promise((r) => agent.listen(0, "127.0.0.1", r));
  const port = await freePort();
  bridge = `http://127.0.0.1:${port}`;
  const file = join(folder, "apbridge.yaml"), from = `http://127.0.0.1:${agent.address().port}`, recording = join(folder, "garden.ndjson");
  await record(from, recording);
  writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, database: join(folder, "b.db"), inspector: { capture: "all" }, default_agent: "a", agents: { a: { url: from, dialect: "taskstep" }, recorded: { url: `replay:${recording}` } } }));
  program = spawn(join(here, "tmp/apbridge"), ["serve", "--config", file], { stdio: "ignore" });
  for (let up = false; !up;) up = await fetch(`${bridge}/readyz`).then((r) => r.ok, () => false);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  program?.kill();
  agent?.closeAllConnections();
  agent?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const json = async (path) => (await fetch(bridge + path)).json();
const until = async (what) => { for (let found; ; await new Promise((r) => setTimeout(r, 20))) if ((found = await what())) return found; };

/** Begins a run, and waits until it has ended unless it is not to. */
async function run(input, ends = true) {
  const thread = (await (await fetch(`${bridge}/threads`, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } })).json()).thread_id;
  const answer = await fetch(`${bridge}/threads/${thread}/runs`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ assistant_id: "a", input: { messages: [{ role: "user", content: input }] } }) });
  const { run_id: id } = await answer.json();
  if (ends) await until(async () => !["pending", "running"].includes((await json(`/inspect/runs/${id}`)).status));
  return { id, thread };
}

const shown = (path, options, body) => open(browser, bridge + path, options, body);

/** The page has run nothing that an agent said, and shows it. */
async function inert(p) {
  assert.doesNotMatch(await p.title(), /taken/);
  assert.equal(await p.locator("main script, main img").count(), 0);
}

for (const input of ["work", "fail"]) {
  describe(`a run that is to ${input}`, () => {
    let pages;
    before(async () => {
      const { id } = await run(input);
      const v = await json(`/inspect/runs/${id}`);
      pages = [`/inspect/runs/${id}`, `/inspect/runs/${id}/log/${v.rows.find((r) => r.kind === "update").seq}`, `/inspect/runs/${id}/calls/${v.calls.at(-1).n}`];
    });
    for (const width of [320, 768, 1280, 1920]) {
      test(`fits ${width} pixels`, async () => {
        for (const path of pages) await shown(path, { viewport: { width, height: 800 } }, async (p) => {
          await unfold(p);
          assert.deepEqual(await sticksOut(p), { wide: false, out: [] }, path);
          await inert(p);
        });
      });
    }
    for (const colorScheme of ["light", "dark"]) {
      test(`has nothing that axe finds, ${colorScheme}`, async () => {
        for (const path of pages) await shown(path, { colorScheme, viewport: { width: 1280, height: 800 } }, (p) => accessible(p, colorScheme));
      });
    }
    test("is read without scripts", async () => {
      for (const path of pages) await shown(path, { javaScriptEnabled: false }, async (p) => {
        await p.getByRole("heading", { level: 1 }).waitFor();
        await inert(p);
      });
    });
  });
}

test("a run is pictured", async () => {
  const { id } = await run("Plan a garden");
  await shown(`/inspect/runs/${id}`, { viewport: { width: 1280, height: 800 } }, (p) => picture(p, "run"));
});

for (const javaScriptEnabled of [true, false]) {
  test(`a run is cancelled from its page, ${javaScriptEnabled ? "by keyboard" : "without scripts"}`, async () => {
    const { id } = await run("wait", false);
    await until(() => release);
    await shown(`/inspect/runs/${id}`, { javaScriptEnabled }, async (p) => {
      await p.getByRole("button", { name: "Cancel …" }).press("Enter");
      await p.getByRole("heading", { level: 1, name: "Cancel this run?" }).waitFor();
      assert.equal((await json(`/inspect/runs/${id}`)).status, "running");
      await p.getByRole("button", { name: "Cancel the run" }).press("Enter");
      await p.waitForURL(`${bridge}/inspect/runs/${id}`);
      await until(async () => !["pending", "running"].includes((await json(`/inspect/runs/${id}`)).status));
      await p.reload();
      assert.equal(await p.getByRole("button", { name: "Cancel …" }).count(), 0);
    });
    release();
    release = undefined;
  });
}

test("a run that failed shows the agent's answer", async () => {
  const { id } = await run("fail");
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.getByRole("heading", { name: "What went wrong" }).waitFor();
    assert.match(await p.locator("pre").first().textContent(), /<script>.*\\u\{202e\}/);
  });
});

test("a file that is a page is previewed as text", async () => {
  const { id } = await run("work");
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await unfold(p);
    const answer = await p.request.get(await p.locator("iframe.preview").evaluate((f) => f.src));
    assert.equal(answer.status(), 200);
    assert.match(await answer.text(), /^<script>.*\\u\{202e\}/);
    await p.frameLocator("iframe.preview").getByText("step").or(p.frameLocator("iframe.preview").getByText("<img src=x")).first().waitFor();
    assert.match(answer.headers()["content-type"], /^text\/plain/);
    assert.match(answer.headers()["content-security-policy"], /sandbox/);
  });
});

test("a run at work grows before the eye, stands still while it is paused, and is opened by keyboard", async () => {
  const { id } = await run("wait", false);
  await until(() => release);
  const go = () => { const r = release; release = undefined; r(); };
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.getByText("Live.").waitFor();
    const updates = p.locator("tr.update");
    assert.equal(await updates.count(), 0);
    go();
    await updates.nth(0).waitFor();
    await inert(p);
    const pause = p.getByRole("button", { name: "Pause updates" });
    await pause.focus();
    await p.keyboard.press("Enter");
    await until(() => release);
    go();
    await until(async () => (await json(`/inspect/runs/${id}`)).rows.filter((r) => r.kind === "update").length === 2);
    await p.waitForTimeout(2_500); // two looks of the stream of changes
    assert.equal(await updates.count(), 1);
    await p.getByRole("button", { name: "Go on with updates" }).press("Enter");
    await updates.nth(1).waitFor();
    await until(() => release);
    go();
    await p.locator("tr.end").waitFor();
    assert.equal(await p.locator("#status").textContent(), "success");
    const seqs = await p.locator("tr[data-seq]").evaluateAll((rows) => rows.map((r) => Number(r.dataset.seq)));
    assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b));
    await p.locator("tr.end th a").press("Enter");
    await p.waitForURL(/\/log\/\d+$/);
  });
});

test("a recorded agent answers as it did, and says what was not recorded", () => shown("/inspect/agents", {}, async (p) => {
  for (const [said, status] of [["Plan a garden", "success"], ["Plan a pond", "error"]]) {
    await p.goto(`${bridge}/inspect/agents`);
    await p.getByRole("region", { name: "recorded", exact: true }).getByRole("textbox").fill(said);
    await p.getByRole("region", { name: "recorded", exact: true }).getByRole("button", { name: "Send …" }).press("Enter");
    await p.getByRole("button", { name: "Send the message" }).press("Enter");
    await p.waitForURL(/\/inspect\/runs\//);
    await until(async () => await p.locator("#status").textContent() === status);
  }
  await p.reload();
  await p.locator(".note").getByText(/was not recorded\. Call \d+ of the recording is POST .*: input is "Plan a pond", recorded was "Plan a garden"/).waitFor();
}));

test("a run that is deleted while it is watched is said to be gone", async () => {
  const { id, thread } = await run("wait", false);
  await until(() => release);
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.getByText("Live.").waitFor();
    release();
    release = undefined;
    await fetch(`${bridge}/threads/${thread}`, { method: "DELETE" });
    await p.getByText("This is not there any more.").waitFor();
  });
});
