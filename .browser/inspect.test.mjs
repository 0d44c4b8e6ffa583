// The inspector as users see it: the list of runs, live and long, agents and their playground; at every width, light and
// dark, by keyboard, without scripts, and checked by axe. BROWSER_PICTURES=1 creates the pictures of docs/inspector.md.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { accessible, launch, picture, shown as open, sticksOut, unfold, until } from "./window.mjs";

const { BROWSER_BRIDGE: bridge, BROWSER_AGENT: agent = "jsagent" } = process.env;

let browser;
before(async () => {
  browser = await launch();
  for (const words of ["Plan a garden", "fail", "Which plants like shade?", "Write the word Washington"]) await say(words);
  const { agents } = await json("/inspect/agents");
  if (agents.some((a) => a.name === "careful")) await say("Write a file", "careful"); // which asks a question first
});
after(() => browser?.close());

const shown = (path, options, body) => open(browser, bridge + path, options, body);

/** Returns a finished run on a new thread, which is kept. */
async function say(content, name = agent) {
  const answer = await fetch(`${bridge}/threads/${randomUUID()}/runs/wait`, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ assistant_id: name, if_not_exists: "create", input: { messages: [{ role: "user", content }] } }),
  });
  assert.equal(answer.status, 200);
  await answer.arrayBuffer();
  return (await json("/inspect?limit=1")).runs[0].run_id;
}

/** The row of a run in the list. */
const rowOf = (page, id) => page.locator(`tr[data-run="${id}"]`);

const json = async (path) => (await fetch(bridge + path)).json();

for (const [path, heading] of [["/inspect/overview", "Overview"], ["/inspect", "Runs"], ["/inspect/agents", "Agents"]]) {
  describe(`the page ${path}`, () => {
    for (const width of [320, 768, 1280, 1920]) {
      test(`fits ${width} pixels, with names of 64 letters`, () => shown(path, { viewport: { width, height: 800 } }, async (page) => {
        await unfold(page);
        await page.evaluate(() => document.querySelectorAll("bdi").forEach((e) => { e.textContent = "W".repeat(64); }));
        assert.deepEqual(await sticksOut(page), { wide: false, out: [] });
      }));
    }

    for (const colorScheme of ["light", "dark"]) {
      for (const width of [320, 1280]) {
        test(`has nothing that axe finds, ${colorScheme}, ${width} pixels`, () => shown(path, { colorScheme, viewport: { width, height: 800 } }, async (page) => {
          await accessible(page, colorScheme);
        }));
      }
      test(`is pictured ${colorScheme}`, () => shown(path, { colorScheme, viewport: { width: 1280, height: 800 } }, async (page) => {
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
        await picture(page, `${heading.toLowerCase()}-${colorScheme}`);
      }));
    }

    test("is read without scripts", () => shown(path, { javaScriptEnabled: false }, async (page) => {
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.locator("bdi").getByText(agent, { exact: true }).first().waitFor();
    }));

    test("has the focus seen, and led to the content", () => shown(path, {}, async (page) => {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.id), "main");
      for (let i = 0; i < 4; i++) {
        await page.keyboard.press("Tab");
        assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
      }
    }));
  });
}

test("emoji and Persian texts are whole in a row that was added", () => shown("/inspect", {}, async (page) => {
  await page.getByText("Live.").waitFor();
  const id = await say("👩\u200d👩\u200d👧 می\u200cخواهم \u202e");
  const cell = rowOf(page, id).locator(".request bdi");
  await cell.waitFor();
  assert.equal(await cell.textContent(), "👩\u200d👩\u200d👧 می\u200cخواهم \\u{202e}");
}));

test("a run that is made is listed at once, and stays out while the page is paused", () => shown("/inspect", {}, async (page) => {
  await page.getByText("Live.").waitFor();
  const first = await say("live");
  await rowOf(page, first).waitFor();
  const button = page.getByRole("button", { name: "Pause updates" });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByText("Paused.").waitFor();
  const heard = page.evaluate((url) => new Promise((told) => { // the events that this page receives in the same time
    let times = 0;
    const source = new EventSource(url);
    source.addEventListener("changed", () => { if (++times > 1) { source.close(); told(times); } });
  }), `${bridge}/inspect/events?x`);
  const second = await say("paused");
  await heard;
  assert.equal(await rowOf(page, second).count(), 0);
  await page.getByRole("button", { name: "Resume updates" }).click();
  await rowOf(page, second).waitFor();
}));

for (const javaScriptEnabled of [true, false]) {
  test(`how runs are is seen at 390 pixels, ${javaScriptEnabled ? "with" : "without"} scripts`, () => shown("/inspect/", { javaScriptEnabled, viewport: { width: 390, height: 800 } }, async (page) => {
    assert.ok(page.url().endsWith("/inspect"));
    if (javaScriptEnabled) await page.locator(".virtual").waitFor();
    await page.locator("tbody .status").first().waitFor();
    const edge = await page.evaluate(() => { // in one piece: rows are made anew while updates come
      const e = document.querySelector("tbody .status");
      const region = e.closest(".scroll").getBoundingClientRect();
      return Math.min(region.right, innerWidth) - e.getBoundingClientRect().right;
    });
    assert.ok(edge >= 0, `${-edge} pixels of the status are out of sight`);
  }));
}

for (const javaScriptEnabled of [true, false]) {
  test(`rows are stacked at 320 pixels, ${javaScriptEnabled ? "with" : "without"} scripts`, () => shown("/inspect", { javaScriptEnabled, viewport: { width: 320, height: 800 } }, async (page) => {
    if (javaScriptEnabled) await page.locator(".virtual").waitFor();
    await page.getByRole("row").getByRole("cell", { name: agent, exact: true }).first().waitFor();
    const { wide, below } = await page.locator(".runs").evaluate((region) => ({
      wide: region.scrollWidth > region.clientWidth,
      below: region.querySelector(".how").getBoundingClientRect().top >= region.querySelector(".request").getBoundingClientRect().bottom,
    }));
    assert.deepEqual({ wide, below }, { wide: false, below: true });
  }));
}

for (const javaScriptEnabled of [true, false]) {
  test(`an agent's name of 64 letters leaves room for the rest at 1440 pixels, ${javaScriptEnabled ? "with" : "without"} scripts`, () => shown("/inspect", { javaScriptEnabled, viewport: { width: 1440, height: 900 } }, async (page) => {
    if (javaScriptEnabled) await page.locator(".virtual").waitFor();
    const { agent: width, request, beyond, title } = await page.locator(".runs").evaluate((region) => {
      const cell = region.querySelector("td.agent");
      cell.querySelector("bdi").textContent = "W".repeat(64);
      return { agent: cell.offsetWidth, request: region.querySelector("tbody .request").offsetWidth, beyond: region.scrollWidth - region.clientWidth, title: cell.title };
    });
    assert.ok(width < 200, `the agent has ${width} pixels`);
    if (javaScriptEnabled) assert.ok(request > 200 && beyond <= 0, `the request has ${request} pixels, and ${beyond} are out of sight`); // without, times are longer
    assert.notEqual(title, "");
  }));
}

test("a list whose window becomes narrow scrolls to its end", () => shown("/inspect", {}, async (page) => {
  await page.getByText("Live.").waitFor();
  await fake(page, 100);
  await say("begin"); // the page asks anew
  await rowOf(page, "run-0").waitFor();
  await page.setViewportSize({ width: 320, height: 800 });
  const region = page.getByRole("region", { name: "Runs" });
  await until(() => region.evaluate((e) => { e.scrollTop = e.scrollHeight; return e.querySelector('[data-run="run-99"]') !== null; }));
}));

test("a filter is used without scripts", () => shown("/inspect", { javaScriptEnabled: false }, async (page) => {
  await page.getByLabel("Text").fill("nothing has this text");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("No run matches.").waitFor();
  await page.getByLabel("Text").fill("PLAN A GARDEN");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("tbody tr").first().waitFor();
  await page.getByRole("navigation", { name: "Status" }).getByRole("link", { name: "error" }).click();
  assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { status: "error", text: "PLAN A GARDEN" });
  await page.getByRole("link", { name: "text: PLAN A GARDEN" }).click();
  assert.deepEqual(Object.fromEntries(new URL(page.url()).searchParams), { status: "error" });
}));

test("the id of a run is copied, and shown in short", async () => {
  const id = await say("copy me");
  await open(browser, `${bridge}/inspect`, { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    const row = rowOf(page, id);
    await page.locator(".virtual").waitFor();
    assert.equal(await row.locator("code").textContent(), `…${id.slice(-8)}`);
    await row.getByRole("button", { name: "Copy" }).press("Enter");
    await row.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), id);
  });
});

/** Answers the list of so many runs in place of the bridge. */
async function fake(page, count) {
  const row = (i) => ({
    run_id: `run-${i}`, thread_id: "t", agent: "a<b>", status: "error", key: "k\u202e", created_at: "2026-01-02T03:04:05Z", took: "1 ms", place: String(i),
    why: "</td><script>document.title='broken'</script>\u001b[31m" + "x".repeat(i === 0 ? 1_000_000 : 100),
  });
  await page.route(/\/inspect\?.*limit=/, (route) => {
    const at = new URL(route.request().url()).searchParams;
    const from = at.get("before") === null ? 0 : Number(at.get("before")) + 1;
    const runs = Array.from({ length: Math.min(200, count - from) }, (_, i) => row(from + i));
    return route.fulfill({ json: { runs, next: from + runs.length < count ? String(from + runs.length - 1) : undefined } });
  });
}

test("requests and why runs wait have the room that is left", () => shown("/inspect", { viewport: { width: 1920, height: 800 } }, async (page) => {
  await page.getByText("Live.").waitFor();
  await fake(page, 5); // a long request and many tokens of other tests would need the room
  await say("begin"); // the page asks anew
  await rowOf(page, "run-0").waitFor();
  const widths = await page.locator("thead th").evaluateAll((cells) => cells.map((c) => [c.textContent, c.offsetWidth]));
  assert.deepEqual(widths.toSorted((a, b) => b[1] - a[1]).slice(0, 2).map(([name]) => name), ["Request", "Details"], JSON.stringify(widths));
}));

test("5,000 runs scroll, and few of them are in the page", () => shown("/inspect", {}, async (page) => {
  const region = page.getByRole("region", { name: "Runs" });
  await page.getByText("Live.").waitFor();
  await fake(page, 5000);
  await say("begin"); // the page asks anew
  await rowOf(page, "run-0").waitFor();
  await region.focus();
  for (;;) { // until all are loaded
    await region.evaluate((e) => { e.scrollTop = e.scrollHeight; });
    if (await page.locator("table").getAttribute("aria-rowcount") === "5001") break;
    await page.waitForTimeout(20);
  }
  await region.evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await rowOf(page, "run-4999").waitFor();
  assert.ok(await page.locator("tbody tr").count() < 150, "the page holds more rows than are seen");
  await page.keyboard.press("Home");
  await rowOf(page, "run-0").waitFor();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.closest("tr")?.dataset.run), "run-1");
  assert.notEqual(await page.title(), "broken");
  assert.match(await page.locator("td.why").first().textContent(), /^<\/td><script>.*\\u\{1b\}\[31m/);
  assert.equal(await page.locator("tbody script").count(), 0);
}));

test("a message is sent to an agent from its page, by keyboard, and once, however often its button is pressed", () => shown("/inspect/agents", {}, async (page) => {
  const card = page.getByRole("region", { name: agent, exact: true });
  await card.getByRole("textbox").fill("hello from the playground");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Send this message?" }).waitFor();
  await page.getByText("hello from the playground").waitFor();
  assert.equal((await json("/inspect?text=from+the+playground")).runs.length, 0);
  await accessible(page, "light");
  const twice = await page.evaluate(async () => { // a second window's click
    const form = document.querySelector("main form");
    const answer = await fetch(location.href, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    return (await answer.json()).run_id;
  });
  await page.getByRole("button", { name: "Send the message" }).press("Enter");
  await page.waitForURL(/\/inspect\/runs\//);
  assert.ok(page.url().endsWith(`/${twice}`), `${page.url()} is not of the run ${twice}`);
  const { runs } = await json("/inspect?text=from+the+playground");
  assert.equal(runs.length, 1);
  assert.ok(page.url().endsWith(runs[0].run_id));
}));

test("the overview counts a run that ends while it is open", () => shown("/inspect/overview", {}, async (page) => {
  await page.getByText("Live.").waitFor();
  const card = page.locator("li.card", { has: page.getByRole("link", { name: agent, exact: true }) });
  const count = async () => Number(/(\d+) runs?,/.exec(await card.locator("figcaption").first().textContent())[1]); // not that of a bar
  const before = await count();
  await page.evaluate(() => { window.first = document.querySelector("[data-numbers] dd"); });
  await say("counted");
  await until(async () => await count() > before); // runs of earlier tests may end, too
  assert.ok(await page.evaluate(() => window.first?.isConnected), "the numbers are not updated in place");
  await page.getByText("s ago").waitFor();
}));

test("keys lead through the inspector, and leave fields and other keys alone", () => shown("/inspect/agents", {}, async (page) => {
  await page.getByRole("button", { name: "Keys" }).waitFor();
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await press("g", "r");
  await page.waitForURL(/\/inspect$/);
  await page.getByRole("button", { name: "Keys" }).waitFor(); // the keys work
  await page.locator(".virtual tr[data-row]").first().waitFor();
  await page.getByText("Live.").waitFor();
  const focused = () => page.evaluate(() => document.activeElement.closest("tr")?.getAttribute("aria-rowindex"));
  await press("j", "j");
  assert.equal(await focused(), "3");
  await press("k");
  assert.equal(await focused(), "2");
  await press("/");
  await page.keyboard.type("p?g o/");
  const field = page.getByRole("searchbox");
  assert.equal(await field.inputValue(), "p?g o/");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await press("Escape", "Control+j", "?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.waitFor();
  await accessible(page, "light");
  await dialog.getByRole("button", { name: "Turn the keys off" }).click();
  await press("Escape", "g", "o", "?");
  assert.equal(await dialog.count(), 0);
  await page.reload();
  await page.getByRole("button", { name: "Keys" }).click();
  await dialog.getByRole("button", { name: "Turn the keys off", pressed: true }).click();
  await press("Escape", "p");
  await page.getByText("Paused.").waitFor();
  await press("j", "Enter");
  await page.waitForURL(/\/inspect\/runs\//);
  await page.getByRole("button", { name: "Keys" }).waitFor();
  await press("j");
  assert.equal(await page.evaluate(() => document.activeElement.closest("main") && document.activeElement.localName), "a");
  await press("g", "o");
  await page.waitForURL(/\/inspect\/overview$/);
  await page.getByRole("button", { name: "Keys" }).waitFor();
  await press("/");
  await page.waitForURL(/\/inspect#search$/);
  await until(() => page.getByRole("searchbox").evaluate((e) => e === document.activeElement));
}));
