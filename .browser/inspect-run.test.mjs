// A run in the inspector as users see it: live, failed, with files, and from an agent whose output cannot be trusted. The
// test starts its own bridge and agent.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, launch, picture, shown as open, sticksOut, unfold, until } from "./window.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const hostile = `<script>document.title="taken"</script>\u202e\u001b[31m`;
const image = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAqDv+AdGAKwwAAAAASUVORK5CYII=", "base64"); // of 16 by 16 pixels
const page = `${hostile}<img src=x onerror=alert(1)>`;
let browser, bridge, agent, graph, program, folder;
let release; // releases the requested step

/** A task/step agent: with "wait" each step waits for release, or with "long wait" from the 120th on, "fail" fails, "ask me" begins with a question, and anything else writes an HTML file and outputs a long line. */
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
    const file = { artifact_id: "a", agent_created: true, file_name: task.input.includes("image") ? "image.png" : "page.html", relative_path: null };
    if (part === "artifacts") return told(res, 200, { artifacts: task.artifacts, pagination: { total_items: 1, total_pages: 1, current_page: 1, page_size: 10 } });
    if (part.startsWith("artifacts/") && task.input.includes("image")) { res.writeHead(200, { "Content-Type": "image/png" }); return res.end(image); }
    if (part.startsWith("artifacts/")) { res.writeHead(200, { "Content-Type": "text/html" }); return res.end(page); }
    if (part !== "steps" || req.method !== "POST") return told(res, 200, task);
    if (task.input.includes("fail")) return told(res, 500, { detail: hostile });
    const long = task.input.includes("long wait");
    if (task.input.includes("wait") && !(long && task.steps < 120)) await new Promise((r) => { release = r; });
    task.steps++;
    if (task.input.includes("ask me") && task.steps === 1) {
      const question = { question: `${hostile} Which plant?` };
      return told(res, 200, { task_id: id, step_id: "s1", name: "ask_user", status: "completed", output: question.question, additional_output: { use_tool: { name: "ask_user", arguments: question } }, artifacts: [], is_last: false });
    }
    const last = task.steps === (long ? 121 : 3), said = task.input.includes("garden") ? `Bed ${task.steps} has ferns and hostas.` : task.steps === 2 ? "x".repeat(1 << 20) : `${hostile} step ${task.steps}`;
    if (last) task.artifacts = [file];
    told(res, 200, { task_id: id, step_id: `s${task.steps}`, name: "work", status: "completed", output: said, artifacts: last ? task.artifacts : [], is_last: last });
  });
}

/** A thread/run agent: a node of a subgraph and one of the graph each send a message with token usage, the latter after the failure of a tool; each waits for release. */
function serveGraph() {
  return createServer(async (req, res) => {
    req.resume();
    const told = (body) => { res.writeHead(200, { "Content-Type": "application/json" }); res.end(JSON.stringify(body)); };
    const { pathname } = new URL(req.url, "http://graph");
    const found = { id: "found", type: "tool", content: "No pond.", tool_call_id: "c2", status: "error" };
    const said = (id) => ({ id, type: "ai", tool_calls: id === "inner" ? [{ id: "c2", name: "look", args: {} }] : [], content: `This is ${id}.`, usage_metadata: { input_tokens: 12_000, output_tokens: 5, total_tokens: 12_005 } });
    const state = (id, messages) => ({ values: { messages }, next: [], tasks: [], metadata: { step: messages.length, source: "loop" }, checkpoint: { checkpoint_id: id, checkpoint_ns: "" } });
    if (pathname === "/ok") return told({ ok: true });
    if (pathname === "/assistants/search") return told([{ assistant_id: "fe096781-5601-53d2-b2f6-0d3403f7e9ca", graph_id: "agent", name: "agent" }]);
    if (pathname === "/threads") return told({ thread_id: crypto.randomUUID() });
    if (pathname.endsWith("/state")) return told(state("2", [said("inner"), found, said("outer")]));
    if (!pathname.endsWith("/runs/stream")) { res.writeHead(404); return res.end("{}"); }
    const run_id = crypto.randomUUID();
    res.writeHead(200, { "Content-Type": "text/event-stream", "Content-Location": `${pathname.replace("/stream", "")}/${run_id}` });
    const tell = (event, data) => res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    tell("metadata", { run_id, attempt: 1 });
    for (const [event, node] of [["updates|sub:1", "inner"], ["updates", "outer"]]) {
      await new Promise((r) => { release = r; });
      tell(event, { [node]: { messages: node === "outer" ? [found, said(node)] : [said(node)] } });
    }
    tell("values", state("2", [said("inner"), found, said("outer")]).values);
    tell("checkpoints", state("2", [said("inner"), found, said("outer")]));
    res.end();
  });
}

/** A recording of a run of the agent, from which another agent answers. */
const record = (from, to) => new Promise((done, failed) => {
  spawn(join(here, "tmp/apbridge"), ["run", from, "Plan a garden", "--record", to], { stdio: "ignore" })
    .on("error", failed).on("exit", (code) => (code === 0 ? done() : failed(new Error(`recording ended with ${code}`))));
});

const freePort = () => new Promise((resolve) => { const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => resolve(port)); }); });

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "apbridge-inspect-"));
  agent = serveAgent();
  graph = serveGraph();
  for (const server of [agent, graph]) await new Promise((r) => server.listen(0, "127.0.0.1", r));
  const port = await freePort();
  bridge = `http://127.0.0.1:${port}`;
  const file = join(folder, "apbridge.yaml"), from = `http://127.0.0.1:${agent.address().port}`, recording = join(folder, "garden.ndjson");
  await record(from, recording);
  writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, database: join(folder, "b.db"), inspector: { capture: "all" }, default_agent: "a", agents: { a: { url: from, dialect: "taskstep", max_steps: 200 }, graph: { url: `http://127.0.0.1:${graph.address().port}`, dialect: "threadrun" }, recorded: { url: `replay:${recording}` } } }));
  program = spawn(join(here, "tmp/apbridge"), ["serve", "--config", file], { stdio: "ignore" });
  for (let up = false; !up;) up = await fetch(`${bridge}/readyz`).then((r) => r.ok, () => false);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  program?.kill();
  for (const server of [agent, graph]) { server?.closeAllConnections(); server?.close(); }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const json = async (path) => (await fetch(bridge + path)).json();


/** Begins a run and, unless told otherwise, waits until it has ended. */
async function run(input, ends = true, besides = {}) {
  const thread = (await (await fetch(`${bridge}/threads`, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } })).json()).thread_id;
  const answer = await fetch(`${bridge}/threads/${thread}/runs`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ assistant_id: "a", input: { messages: [{ role: "user", content: input }] }, ...besides }) });
  const { run_id: id } = await answer.json();
  if (ends) await until(async () => !["pending", "running"].includes((await json(`/inspect/runs/${id}`)).status));
  return { id, thread };
}

const shown = (path, options, body, expected) => open(browser, bridge + path, options, body, expected);

/** Checks that the page shows an agent's output without executing it. */
async function inert(p) {
  assert.doesNotMatch(await p.title(), /taken/);
  assert.equal(await p.locator("main script, main img").count(), 0);
}

/** Cells of the axis that are not below their header or whose text overflows, with the given number of dialect columns. */
const misplaced = (page, dialects) => page.evaluate((dialects) => {
  const head = document.querySelector(".axis thead tr"), rows = [...document.querySelectorAll(".axis tbody tr")];
  for (const row of [head, ...rows]) {
    const whole = row.querySelector("[colspan]");
    whole?.setAttribute("colspan", dialects + 1);
    while (!whole && row.cells.length < 3 + dialects) row.append(row.cells[3].cloneNode(true));
    while (!whole && row.cells.length > 3 + dialects) row.lastElementChild.remove();
  }
  const edges = (row) => { const at = [...row.cells].map((c) => c.getBoundingClientRect()); return [...at.map((r) => r.left), at.at(-1).right]; };
  const wanted = edges(head);
  return [head, ...rows].filter((row) => {
    const found = edges(row), last = found.pop();
    return found.some((x, i) => Math.abs(x - wanted[i]) > 1) || Math.abs(last - wanted.at(-1)) > 1 || [...row.cells].some((c) => c.scrollWidth > c.clientWidth + 1);
  }).map((row) => row.outerHTML.slice(0, 120));
}, dialects);

for (const input of ["work", "fail", "ask me"]) {
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
    for (const width of [320, 700, 1280, 1920]) {
      test(`has a row of cells below those of its head, ${width} pixels`, () => shown(pages[0], { viewport: { width, height: 800 } }, async (p) => {
        await unfold(p);
        await p.evaluate(() => document.querySelectorAll(".axis bdi, .axis a, .axis code").forEach((e) => { e.textContent += "W".repeat(64); }));
        for (const columns of [2, 1, 3]) assert.deepEqual(await misplaced(p, columns), [], `${columns} columns`);
      }));
    }
    test("has nothing that paper is too narrow for", async () => {
      for (const path of ["/inspect", "/inspect/agents", ...pages]) await shown(path, { viewport: { width: 718, height: 1000 } }, async (p) => {
        if (path === "/inspect") await p.locator(".virtual").waitFor();
        await unfold(p);
        await p.emulateMedia({ media: "print" });
        assert.deepEqual(await p.evaluate(() => [...document.querySelectorAll("main *")].filter((e) => e.getClientRects().length > 0 && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 120))), [], path);
      });
    });
    test("is read without scripts", async () => {
      for (const path of pages) await shown(path, { javaScriptEnabled: false }, async (p) => {
        await p.getByRole("heading", { level: 1 }).waitFor();
        await inert(p);
      });
    });
  });
}

test("rows out of sight are rows to a screen reader, are found and have the focus", async () => {
  const { id } = await run("work");
  const read = await launch("--force-renderer-accessibility"); // as with a screen reader; otherwise Chromium only reports elements that it has laid out
  try {
    await open(read, `${bridge}/inspect/runs/${id}`, { viewport: { width: 1280, height: 300 } }, async (p) => {
      const rows = await p.locator(".axis tr").evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent.trim())));
      const last = p.locator(".axis tbody tr").last().locator("td").first();
      assert.equal(await last.evaluate((r) => r.checkVisibility({ contentVisibilityAuto: true })), false, "the last row is laid out");
      assert.deepEqual(await told(p), rows.map((cells) => cells.length));
      assert.ok(await p.evaluate(() => find("The run ends")));
      await p.locator(".axis tbody a").first().focus();
      for (let n = await p.locator(".axis a").count(); n > 1; n--) await p.keyboard.press("Tab");
      assert.equal(await p.evaluate(() => document.activeElement.closest("tr")?.className), "end");
      const { top, bottom } = await p.evaluate(() => document.activeElement.getBoundingClientRect());
      assert.ok(top >= 0 && bottom <= 300, `the focus is at ${top}`);
    });
  } finally {
    await read.close();
  }
});

/** The number of cells in each row of a page's only table, as reported to a screen reader. */
async function told(p) {
  const { nodes } = await (await p.context().newCDPSession(p)).send("Accessibility.getFullAXTree");
  const by = new Map(nodes.map((n) => [n.nodeId, n]));
  const within = (n, ...roles) => n.childIds.map((id) => by.get(id)).flatMap((c) => roles.includes(c.role?.value) ? [c] : within(c, ...roles));
  const tables = within(nodes[0], "table");
  assert.equal(tables.length, 1);
  return within(tables[0], "row").map((row) => within(row, "cell", "rowheader", "columnheader").length);
}

test("an axis says what its rows and cells are, also to browsers that take it for no table", async () => {
  const { id } = await run("work");
  const answer = await (await fetch(`${bridge}/inspect/runs/${id}`, { headers: { Accept: "text/html" } })).text();
  const parts = answer.match(/<table class="axis[^]*<\/table>/)[0].match(/<(table|thead|tbody|tr|th|td)\b[^>]*>/g);
  assert.deepEqual(parts.filter((one) => !one.includes(" role=")), []);
});

// For each agent: the number of updates of its run, and expected contents of the rows.
for (const [name, agent, updates, wanted] of [
  ["the steps of a task", "a", 3, ["durability: dropped"]],
  ["nodes of a subgraph, and messages that say their tokens", "graph", 2, ["<bdi>sub:1/inner</bdi>", "12,000 tokens in, 5 out", "tool · failed", "result of <code>look</code>"]],
]) {
  test(`rows that come while a run is watched are those of its page: ${name}`, async () => {
    release = undefined;
    const { id } = await run("wait", false, { assistant_id: agent, durability: "sync" }); // which the task/step agent does not receive
    await until(() => release);
    const at = `${bridge}/inspect/runs/${id}`, rows = (p) => p.locator(".axis tbody tr").evaluateAll((list) => list.map((r) => r.outerHTML));
    const story = (p) => p.locator("#summary, #usage, #calls, .timing, .turn, .lane, .legend, [data-files]").evaluateAll((list) => list.map((e) => e.outerHTML));
    await open(browser, "about:blank", {}, async (p) => {
      await p.route(at, async (route) => { // as if nothing had happened yet
        if (route.request().resourceType() !== "document") return route.continue();
        const answer = await route.fetch();
        return route.fulfill({ response: answer, body: (await answer.text()).replace(/data-last="\d+"/, 'data-last="0"').replace(/(<tbody[^>]*>)[^]*<\/tbody>/, "$1</tbody>") });
      });
      await p.goto(at);
      await p.locator("tr.linked").first().waitFor(); // a busy agent is told of twice
      for (let n = 1; n <= updates; n++) {
        const go = await until(() => release);
        release = undefined;
        go();
        await p.locator("tr.update").nth(n - 1).waitFor();
      }
      await p.getByText("It has ended.").waitFor();
      assert.equal(await p.getByRole("button", { name: "Pause updates" }).count(), 0);
      const live = await rows(p), told = await story(p);
      assert.ok(live.length > 7 && wanted.every((words) => [...live, ...told].join("").includes(words)), [...live, ...told].join("\n"));
      await p.unroute(at);
      await p.reload();
      assert.deepEqual(live, await rows(p));
      assert.deepEqual(told, await story(p));
    });
  });
}

test("runs that come while the list is watched are those of its page", async () => {
  const { id, thread } = await run("wait", false, { assistant_id: "graph" });
  const cells = (p) => p.locator(`tr[data-run="${id}"]`).evaluate((row) => [...row.cells].map((cell) => {
    cell.removeAttribute("title"); // the module's alone
    for (const time of cell.querySelectorAll("time[title]")) { // relative, by the module
      time.textContent = time.title;
      time.removeAttribute("title");
    }
    return cell.outerHTML;
  }));
  const list = `/inspect?thread=${thread}`;
  await shown(list, {}, async (p) => {
    await p.getByText("Live.").waitFor();
    for (let n = 1; n <= 2; n++) {
      const go = await until(() => release);
      release = undefined;
      go();
    }
    await p.getByText("24,000 in, 10 out").waitFor();
    const live = await cells(p);
    assert.equal(live.length, 10);
    await shown(list, { javaScriptEnabled: false }, async (q) => assert.deepEqual(live, await cells(q)));
  });
});

test("a run is read at a glance: a sentence, the conversation and a waterfall, whose bars mark the rows they belong to", async () => {
  const { id } = await run("Plan a garden");
  await shown(`/inspect/runs/${id}`, { viewport: { width: 1280, height: 1000 } }, async (p) => {
    await p.getByRole("heading", { level: 1, name: "Plan a garden" }).waitFor();
    assert.match(await p.locator("#summary").textContent(), /^Succeeded after 3 steps in .*; the agent took .*\.$/);
    assert.deepEqual(await p.locator(".turn .said").allTextContents(), ["Plan a garden", ...[1, 2, 3].map((n) => `Bed ${n} has ferns and hostas.`)]);
    const bars = await p.locator(".lane.step rect").evaluateAll((list) => list.map((r) => r.getBoundingClientRect()).map((r) => [r.left, r.right]));
    assert.equal(bars.length, 3);
    for (const [n, [left]] of bars.entries()) assert.ok(n === 0 || left >= bars[n - 1][0], JSON.stringify(bars));
    await p.locator(".lane.step").nth(1).hover();
    assert.match(await p.locator("tr.lit").textContent(), /Bed 2/);
    assert.match(await p.locator(".turn.lit").textContent(), /Bed 2/);
    await p.locator(".lane.call a").last().focus();
    assert.equal(await p.locator("tr.lit.call").count(), 1);
    const tight = await p.locator(".length").evaluateAll((list) => list.flatMap((e) => ["under 1 ms", "59 min 59 s"].map((text) => {
      e.textContent = text;
      return e.scrollWidth - e.clientWidth;
    })));
    assert.ok(tight.every((over) => over <= 0), `a length overflows by ${tight}`);
  });
  const { id: failed } = await run("fail");
  await shown(`/inspect/runs/${failed}`, {}, async (p) => {
    assert.match(await p.locator("#summary").textContent(), /^Failed before its first step in .*: the agent answered 500, “/);
    assert.notEqual(await p.locator(".lane.failed").count(), 0);
  });
});

test("lengths of time are written as the bridge writes them", () => shown("/inspect", {}, async (p) => {
  for (const [s, text] of Object.entries({ 0: "0 ms", 0.0004: "under 1 ms", 0.25: "250 ms", 0.9996: "1.0 s", 59.5: "59.5 s", 59.96: "1 min 0 s", 119.7: "2 min 0 s", 3599.6: "1 h 0 min", 3725: "1 h 2 min" })) {
    assert.equal(await p.evaluate(async (s) => (await import(new URL("inspect/web/live.js", location.href))).seconds(s), Number(s)), text);
  }
}));

test("the link to a run is copied", async () => {
  const { id } = await run("Plan a garden");
  const at = `${bridge}/inspect/runs/${id}`;
  await open(browser, `${at}?after=1#axis`, { permissions: ["clipboard-read", "clipboard-write"] }, async (p) => {
    await p.getByRole("button", { name: "Copy link" }).press("Enter");
    await p.getByRole("button", { name: "Copied", exact: true }).waitFor();
    assert.equal(await p.evaluate(() => navigator.clipboard.readText()), at);
    await p.getByRole("button", { name: "Copy link" }).waitFor();
  });
  await shown(`/inspect/runs/${id}`, { javaScriptEnabled: false }, async (p) => assert.equal(await p.getByRole("button", { name: "Copy" }).count(), 0));
});

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

for (const javaScriptEnabled of [true, false]) {
  test(`a question is answered on the page of its run, ${javaScriptEnabled ? "by keyboard" : "without scripts"}`, async () => {
    const { id } = await run("ask me");
    await shown(`/inspect/runs/${id}`, { javaScriptEnabled }, async (p) => {
      await p.locator(".turn.asks").getByLabel("Your answer").fill("A fern");
      await p.getByRole("button", { name: "Answer …" }).press("Enter");
      await p.getByRole("heading", { level: 1, name: "Send this answer?" }).waitFor();
      await p.getByRole("button", { name: "Send the answer" }).press("Enter");
      await p.waitForURL(/\/inspect\/runs\//);
      assert.ok(!p.url().endsWith(id), p.url());
      await p.locator(".turn.person").getByText("A fern").waitFor();
      const next = p.url();
      await p.getByRole("link", { name: "run that asked" }).first().click();
      assert.equal(p.url(), `${bridge}/inspect/runs/${id}`);
      assert.equal(await p.getByRole("button", { name: "Answer …" }).count(), 0);
      assert.equal(await p.locator("#status").textContent(), "interrupted, answered");
      await p.locator(".turn.person").getByText("A fern").waitFor();
      await p.getByRole("link", { name: "run that continued" }).first().click();
      assert.equal(p.url(), next);
    });
  });
}

test("a run that failed shows the agent's answer", async () => {
  const { id } = await run("fail");
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.locator(".turn.failure summary").click();
    assert.match(await p.locator(".turn.failure pre").textContent(), /<script>.*\\u\{202e\}/);
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

test("a file that is an image is previewed where nothing runs", async () => {
  const { id } = await run("image");
  const p = await browser.newPage(); // Chromium styles a standalone image and complains that the policy forbids it
  try {
    await p.goto(`${bridge}/inspect/runs/${id}`);
    await unfold(p);
    const drawn = await p.frameLocator("iframe.preview[sandbox='']").locator("img").evaluate((img) => img.decode().then(() => img.naturalWidth));
    assert.equal(drawn, 16);
    const edges = await p.evaluate(() => ["iframe.preview", "main .scroll"].map((e) => document.querySelector(e).getBoundingClientRect().right));
    assert.ok(edges[0] <= edges[1], `the preview ends at ${edges[0]}, the page at ${edges[1]}`);
  } finally {
    await p.close();
  }
});

test("a run at work grows before the eye, stands still while it is paused, and is opened by keyboard", async () => {
  const { id } = await run("wait", false);
  await until(() => release);
  const go = () => { const r = release; release = undefined; r(); };
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.getByText("Live.").waitFor();
    const updates = p.locator("tr.update"), total = p.locator('.timing [data-part="total"]');
    assert.equal(await updates.count(), 0);
    const before = await total.textContent();
    await until(async () => await total.textContent() !== before); // time passes although nothing happens
    go();
    await updates.nth(0).waitFor();
    await inert(p);
    const pause = p.getByRole("button", { name: "Pause updates" });
    await pause.focus();
    await p.keyboard.press("Enter");
    await until(() => release);
    go();
    await until(async () => (await json(`/inspect/runs/${id}`)).rows.filter((r) => r.kind === "update").length === 2);
    await p.waitForTimeout(2_500); // two polls of the stream of changes
    assert.equal(await updates.count(), 1);
    await p.getByRole("button", { name: "Resume updates" }).press("Enter");
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

test("a file that a run writes appears on the page of its thread, and stays unfolded", async () => {
  release = undefined;
  const { thread } = await run("wait", false);
  await shown(`/inspect/threads/${thread}`, {}, async (p) => {
    assert.equal(await p.locator("[data-files] details").count(), 0);
    for (let n = 1; n <= 3; n++) {
      const go = await until(() => release);
      release = undefined;
      go();
    }
    await p.locator("[data-files] summary").click();
    await p.evaluate(() => document.activeElement.blur()); // the files stand still while they have the focus
    await fetch(`${bridge}/threads/${thread}/runs/wait`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ assistant_id: "a", input: { messages: [{ role: "user", content: "Plan a garden" }] } }) });
    await p.locator("[data-runs] tbody tr").nth(1).waitFor();
    await p.locator("[data-files] details[open]").waitFor();
  });
});

test("a run with more than one page of events is followed to its end, also on a page of its log", async () => {
  release = undefined;
  const { id } = await run("a long wait in the garden", false);
  const go = await until(() => release), at = `/inspect/runs/${id}`;
  release = undefined;
  await shown(at, {}, (p) => shown(`${at}?after=5`, {}, async (q) => {
    for (const one of [p, q]) await one.getByText("Live.").waitFor();
    const rows = (one) => one.locator(".axis tbody tr").count(), before = [await rows(p), await rows(q)];
    go();
    for (const one of [p, q]) {
      await one.getByText("It has ended.").waitFor();
      assert.equal(await one.locator("#next").count(), 1, "the log has no other page");
      assert.equal(await one.locator("#status").textContent(), "success");
      assert.equal(await one.getByRole("button", { name: "Cancel …" }).count(), 0);
    }
    assert.deepEqual([await rows(p), await rows(q)], before, "a page of the log grew");
    assert.match(await p.locator("#summary").textContent(), /^Succeeded after 121 steps/);
    assert.ok(await p.locator("[data-made]").count() > 40);
    await p.getByRole("link", { name: /^\d+ earlier bars in the log$/ }).waitFor();
    const story = () => p.locator("#summary, .turn, .lane, [data-earlier], [data-more], [data-rest]").evaluateAll((list) => list.map((e) => e.outerHTML));
    const told = await story();
    await p.reload();
    assert.deepEqual(told, await story());
  }));
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
  await p.locator(".turn.failure .said").getByText(/was not recorded\. Call \d+ of the recording is POST .*: input is "Plan a pond", recorded was "Plan a garden"/).waitFor();
}));

test("a run that is deleted while it is watched is said to be gone", async () => {
  const { id, thread } = await run("wait", false);
  await until(() => release);
  await shown(`/inspect/runs/${id}`, {}, async (p) => {
    await p.getByText("Live.").waitFor();
    release();
    release = undefined;
    await fetch(`${bridge}/threads/${thread}`, { method: "DELETE" });
    await p.getByText("This no longer exists.").waitFor();
  }, /status of 404/); // when the page requests earlier events, it learns that the run is gone
});
