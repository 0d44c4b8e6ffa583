// Uses the chat page of examples/chat, which npm start serves, like a user.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

const { BROWSER_BRIDGE: bridge, BROWSER_EXAMPLE: site } = process.env;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** Opens the page with an agent for body. */
async function opened(agent, body) {
  const page = await browser.newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(`${site}/?bridge=${encodeURIComponent(bridge)}&agent=${agent}`);
  try {
    await body(page);
  } finally {
    await page.close();
  }
}

async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

const said = (page, text) => page.getByRole("article").getByText(text, { exact: true }).first().waitFor();
const quiet = (page) => page.getByText("at work").waitFor({ state: "detached" });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

describe("the example's chat page", () => {
  test("an answer, its file, the list of chats and a reload", () => opened("jsagent", async (page) => {
    const words = `write ${crypto.randomUUID()}`;
    await say(page, words);
    await said(page, "done");
    await page.getByText("1 file").click();
    await page.getByRole("link", { name: "/out/result.txt" }).waitFor();
    await page.getByRole("navigation").getByRole("button", { name: words, exact: true }).waitFor();
    await page.reload();
    await said(page, "done");
    await press(page, `Delete ${words}`);
    await page.getByText("Say something.").waitFor();
  }));

  test("an error", () => opened("jsagent", async (page) => {
    await say(page, "please fail");
    await page.getByRole("alert").getByText("failed on purpose").waitFor();
  }));

  test("a run is stopped", () => opened("jsagent", async (page) => {
    await say(page, "slow 30000");
    await said(page, "asked: slow 30000");
    await press(page, "Stop");
    await quiet(page);
  }));

  test("a question is answered", () => opened("autogpt", async (page) => {
    await say(page, "ask about colours");
    const question = page.getByRole("region", { name: "Question" });
    await question.waitFor();
    assert.equal(await page.locator("article .file").count(), 0, "a question is no file");
    await question.getByLabel("answer").fill("blue");
    await press(question, "Answer");
    await said(page, "All done");
  }));

  test("a command is approved", () => opened("careful", async (page) => {
    await say(page, "write it");
    await press(page.getByRole("region", { name: "Question" }).first(), "Approve");
    await page.getByText("1 file").waitFor();
  }));
});
