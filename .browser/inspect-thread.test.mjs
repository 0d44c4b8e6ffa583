// Threads in the inspector as users see them: read, compared, forked, answered, run again; at every width, light and dark,
// without scripts, and checked by axe. BROWSER_PICTURES=1 creates the pictures of docs/inspector.md.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { accessible, launch, picture, shown as open, sticksOut, unfold, until } from "./window.mjs";

const { BROWSER_BRIDGE: bridge, BROWSER_AGENT: agent = "jsagent", BROWSER_ASKING: asking = "ask" } = process.env;

let browser, plain, asked, forked, wide, ends, checkpoint, run;
before(async () => {
  browser = await launch();
  plain = await say(agent, "Plan a garden");
  await say(agent, "And now a pond", plain);
  asked = await say(asking, "ask me");
  const told = await json(`/inspect/threads/${plain}`);
  checkpoint = points(told).at(-2).id; // after the first input
  run = told.runs[0].run_id;
  forked = await say(agent, "Plan a garden");
  const input = points(await json(`/inspect/threads/${forked}`)).at(-2).id;
  await say(agent, "With a wall around it", forked, input);
  ends = points(await json(`/inspect/threads/${forked}`)).filter((point) => point.head || point.tip).map((point) => `at=${point.id}`).join("&");
  wide = (await post("/threads", {})).thread_id;
  const { checkpoint: root } = await post(`/threads/${wide}/state`, { values: { n: 0 } });
  for (let n = 1; n <= 10; n++) await post(`/threads/${wide}/state`, { values: { n, [`a long name of a value ${n}`]: n }, checkpoint_id: root.checkpoint_id });
});
after(() => browser?.close());

const shown = (path, options, body) => open(browser, bridge + path, options, body);
/** The checkpoints of a thread's page, newest first. */
const points = ({ tree }) => tree.groups.flatMap((group) => group.checkpoints);
const json = async (path) => (await fetch(bridge + path)).json();

async function post(path, body) {
  const answer = await fetch(bridge + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(answer.status, 200);
  return answer.json();
}

/** Sends a message on a new or existing thread, at its end or at a checkpoint, and waits for the end. */
async function say(who, content, thread = randomUUID(), at = undefined) {
  await post(`/threads/${thread}/runs/wait`, { assistant_id: who, if_not_exists: "create", checkpoint_id: at, input: { messages: [{ role: "user", content }] } });
  return thread;
}

for (const [what, path] of [
  ["a thread", () => `/inspect/threads/${plain}`], ["a question", () => `/inspect/threads/${asked}`],
  ["a thread with a fork", () => `/inspect/threads/${forked}`], ["a thread with many lines", () => `/inspect/threads/${wide}`],
  ["a checkpoint", () => `/inspect/threads/${plain}/checkpoints/${checkpoint}`],
  ["a difference", () => `/inspect/threads/${plain}/difference?to=${checkpoint}`],
  ["a difference of two lines", () => `/inspect/threads/${forked}/difference?${ends}`],
  ["a run to make again", () => `/inspect/runs/${run}/again`],
]) {
  describe(`the page of ${what}`, () => {
    for (const width of [320, 768, 1280, 1920]) {
      test(`fits ${width} pixels`, () => shown(path(), { viewport: { width, height: 800 } }, async (page) => {
        await unfold(page);
        await page.evaluate(() => document.querySelectorAll("bdi, .said").forEach((e) => { e.textContent = "W".repeat(64); }));
        assert.deepEqual(await sticksOut(page), { wide: false, out: [] });
      }));
    }
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [320, 1280]) {
        test(`has nothing that axe finds, ${colorScheme}, ${width} pixels`, () => shown(path(), { colorScheme, viewport: { width, height: 800 }, bypassCSP: true }, async (page) => {
          await accessible(page, colorScheme);
        }));
      }
    }
  });
}

test("a thread and its question are pictured", async () => {
  for (const [name, at, width] of [["thread", `${forked}#history`, 1280], ["question", asked, 1100]]) {
    await shown(`/inspect/threads/${at}`, { viewport: { width, height: 720 } }, (page) => picture(page, name));
  }
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "by keyboard" : "without scripts";
  test(`two checkpoints are compared, ${how}`, () => shown(`/inspect/threads/${plain}`, { javaScriptEnabled }, async (page) => {
    const compare = page.getByRole("checkbox", { name: "compare" });
    await compare.last().press("Space");
    await compare.first().press("Space");
    await page.getByRole("button", { name: "Compare" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Difference" }).waitFor();
    assert.match(await page.locator(".summary").textContent(), /^\d+ messages added.* between the start of “Plan a garden” and step \d+ of “.+”\.$/);
    await page.getByText("Plan a garden").first().waitFor();
  }));

  test(`a checkpoint is compared with the one before it, ${how}`, () => shown(`/inspect/threads/${plain}`, { javaScriptEnabled }, async (page) => {
    await page.locator(`#at-${checkpoint}`).getByRole("link", { name: "Difference" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Difference" }).waitFor();
    assert.equal(await page.locator(".summary").textContent(), "1 message added between the start and the input.");
    await page.getByRole("link", { name: "history of the thread" }).press("Enter");
    await page.getByRole("heading", { name: "History" }).waitFor();
  }));

  test(`a fork from the history is a line of its own, ${how}`, async () => {
    const thread = await say(agent, "Plan a garden");
    const before = points(await json(`/inspect/threads/${thread}`));
    const [tip, fork] = [before[0].id, before.at(-2).id];
    await shown(`/inspect/threads/${thread}`, { javaScriptEnabled }, async (page) => {
      await page.locator(`#at-${fork}`).getByRole("link", { name: "Continue from here" }).press("Enter");
      await page.getByLabel("Say", { exact: true }).waitFor();
      await until(() => page.evaluate(() => document.activeElement.id === "say")); // a loaded machine moves the focus later
      await page.keyboard.type("A wall instead");
      await page.getByRole("button", { name: "Continue …" }).press("Enter");
      await page.getByRole("button", { name: "Continue from here" }).press("Enter");
      await page.waitForURL(`${bridge}/inspect/threads/${thread}`);
      if (!javaScriptEnabled) await ended(thread).then(() => page.reload());
      await page.locator(".point.head").getByText("done").waitFor();
      await page.locator(`#at-${fork}`).getByText("2 lines continue from here").waitFor();
      await page.locator(`#at-${tip}`).getByText("end of another line").waitFor();
      assert.deepEqual(await page.locator(".tree h3 bdi:first-child").allTextContents().then((list) => list.filter((text) => text !== agent)), ["A wall instead", "Plan a garden"]);
      const left = (id) => page.locator(`[id="${id}"] circle`).evaluate((dot) => dot.getBoundingClientRect().left);
      const head = points(await json(`/inspect/threads/${thread}`))[0].id;
      assert.equal(await left(`at-${head}`), await left(`at-${fork}`));
      assert.ok(await left(`at-${tip}`) > await left(`at-${fork}`));
      await page.locator(`#at-${tip}`).getByRole("link", { name: "agent finish: done" }).press("Enter");
      await page.getByRole("heading", { name: "Conversation" }).waitFor();
      await page.locator(".turn").getByText("wrote result.txt").waitFor();
    });
  });

  test(`a thread is gone on from a checkpoint, ${how}`, () => shown(`/inspect/threads/${plain}/checkpoints/${checkpoint}`, { javaScriptEnabled }, async (page) => {
    await page.getByLabel("Say", { exact: true }).fill(`A wall, ${how}`);
    await page.getByRole("button", { name: "Continue …" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Continue from here?" }).waitFor();
    await page.getByRole("button", { name: "Continue from here" }).press("Enter");
    await page.waitForURL(`${bridge}/inspect/threads/${plain}`);
    if (!javaScriptEnabled) await ended(plain).then(() => page.reload());
    await page.locator(".turn").getByText(`A wall, ${how}`).first().waitFor();
    await ended(plain);
  }));

  test(`a question is answered, ${how}`, async () => {
    const thread = await say(asking, "ask me");
    await shown(`/inspect/threads/${thread}`, { javaScriptEnabled }, async (page) => {
      const { questions } = await json(`/inspect/threads/${thread}`);
      assert.equal(questions.length, 1);
      const words = page.getByLabel(/Your answer|Or in words/);
      if (await words.count()) await words.first().fill("blue");
      else await page.locator('input[type="radio"][name="decision-0"]').first().check();
      await page.getByRole("button", { name: "Answer …" }).press("Enter");
      await page.getByRole("heading", { level: 1, name: "Send this answer?" }).waitFor();
      await page.getByRole("button", { name: "Send the answer" }).press("Enter");
      await page.waitForURL(`${bridge}/inspect/threads/${thread}`);
      await ended(thread);
      assert.equal((await json(`/inspect/threads/${thread}`)).questions.length, 0);
    });
  });
}

test("the link to answer a question leads to its first field", async () => {
  const thread = await say(asking, "ask me");
  await shown(`/inspect?thread=${thread}`, {}, async (page) => {
    await page.getByRole("link", { name: /^Answer/ }).click();
    await page.waitForURL(/#question-0$/);
    await until(() => page.evaluate(() => document.activeElement.matches("form[action$='/answer'] :is(input, select, textarea)")));
    await page.getByRole("heading", { name: /asks$/ }).waitFor();
    assert.ok(await page.locator("#question-0").evaluate((e) => e.getBoundingClientRect().top >= 0));
  });
});

test("a run is made again with another input", () => shown(`/inspect/runs/${run}/again`, {}, async (page) => {
  assert.equal(await page.getByText("curl -s").first().isVisible(), false, "the code is folded");
  await page.getByLabel("Message").fill("A third garden");
  await page.getByRole("button", { name: "Run again …" }).click();
  await page.getByRole("button", { name: "Run it again" }).click();
  await page.locator(".turn").getByText("A third garden").first().waitFor();
  assert.ok(!page.url().includes(plain));
}));

for (const permissions of [["clipboard-read", "clipboard-write"], []]) {
  test(`a program is copied, ${permissions.length > 0 ? "by keyboard" : "or selected where the page may not copy"}`, () => shown(`/inspect/runs/${run}/again`, { permissions }, async (page) => {
    if (permissions.length === 0) await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed")); });
    await page.locator("summary", { hasText: "JavaScript" }).press("Enter");
    const program = page.locator("figure", { hasText: "JavaScript" });
    await program.getByRole("button", { name: "Copy" }).press("Enter");
    await program.getByRole("button", { name: permissions.length > 0 ? "Copied" : "Selected" }).waitFor();
    const taken = await page.evaluate((copied) => copied ? navigator.clipboard.readText() : getSelection().toString(), permissions.length > 0);
    assert.match(taken, /^import { Client } from "@langchain\/langgraph-sdk";[^]*client\.runs\.wait[^]*console\.log\(values\);\s*$/);
  }));
}

test("a page that is open shows what is said meanwhile, and keeps what a person types", async () => {
  const thread = await say(asking, "ask me");
  await shown(`/inspect/threads/${thread}`, {}, async (page) => {
    const json = page.getByLabel("The whole answer, as JSON");
    await page.getByText("Answer with JSON instead").click();
    await json.fill('"typing"');
    const answer = await fetch(`${bridge}/threads/${thread}/runs/wait`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ assistant_id: asking, command: { resume: "green" } }),
    });
    assert.equal(answer.status, 200);
    await page.getByText("A question here was answered.").waitFor();
    await page.locator("[data-runs] tbody tr .status").and(page.getByText("success")).waitFor();
    assert.equal(await json.inputValue(), '"typing"');
    await page.getByRole("button", { name: "Answer …" }).click();
    await page.getByText("answered already").waitFor();
  }).catch((error) => { if (!String(error).includes("409")) throw error; });
});

test("turns that come while a thread is watched are those of its page", async () => {
  const thread = await say(agent, "hi");
  const turns = (page) => page.locator("[data-turns] .turn").evaluateAll((list) => list.map((turn) => {
    turn.querySelectorAll("a").forEach((a) => a.setAttribute("href", a.href));
    return turn.outerHTML.replace(/>\s+</g, "><");
  }));
  await shown(`/inspect/threads/${thread}`, {}, async (page) => {
    const messages = [
      { type: "ai", id: "asks", content: "", tool_calls: [{ id: "c", name: "look", args: { at: "a pond" } }] },
      { type: "tool", id: "told", tool_call_id: "c", status: "error", content: "Fish." },
      { type: "human", id: "sees", name: "Ann", content: [{ type: "text", text: "See" }, { type: "image_url", image_url: { url: "https://127.0.0.1/pond.png" } }] },
    ];
    const answer = await fetch(`${bridge}/threads/${thread}/state`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ values: { messages } }) });
    assert.equal(answer.status, 200);
    await page.locator(".turn").getByText("Ann").waitFor();
    const live = await turns(page);
    assert.equal(await page.locator("[data-news]").textContent(), "This page was updated.");
    assert.ok(["result of <code>look", "· failed", "https://127.0.0.1/pond.png"].every((part) => live.join("").includes(part)), live.join("\n"));
    await page.reload();
    assert.deepEqual(live, await turns(page));
  });
});

/** Waits until no run is active on the thread. */
async function ended(thread) {
  for (let n = 0; n < 300; n++) {
    const { status } = await json(`/inspect/threads/${thread}`);
    if (status !== "busy") return;
    await new Promise((done) => { setTimeout(done, 100); });
  }
  assert.fail("the thread is busy for 30 seconds");
}
