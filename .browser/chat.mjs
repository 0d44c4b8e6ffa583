// One chat page in the browser, used like by a user. It always waits for a state of the page, never for a time.
import assert from "node:assert/strict";

export class Chat {
  /** Opens a client's page in a new tab; patience is the maximum time of each wait, in milliseconds. */
  static async open(context, address, patience) {
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const chat = new Chat(page, patience);
    page.on("pageerror", (err) => chat.faults.push(String(err)));
    await page.goto(address);
    await page.locator("main").waitFor();
    return chat;
  }

  constructor(page, patience) {
    Object.assign(this, { page, patience, faults: [] });
  }

  close() {
    return this.page.close();
  }

  async send(text, file) {
    if (file) await this.page.getByLabel("File", { exact: true }).setInputFiles({ name: file.name, mimeType: "text/plain", buffer: Buffer.from(file.text) });
    await this.page.getByLabel("Message", { exact: true }).fill(text);
    await this.press("Send");
  }

  /** Sends a text and waits for the end of the turn: a matching last message, and no activity. */
  async turn(text, last, file) {
    await this.send(text, file);
    await this.ended(text, last);
  }

  /** Waits until there is no activity and the answer to the user's last message ends like this. */
  ended(text, last) {
    return this.until(`the turn of ${JSON.stringify(text)} ends with ${last}`, (shown, [text, last]) => {
      const at = shown.messages.findLastIndex((m) => m.type === "human");
      const end = shown.messages.slice(at + 1).findLast((m) => m.type !== "tools"); // a page may list the tools of a turn after it
      return !shown.working && (text === null || shown.messages[at]?.text === text) && end?.type === "ai" && new RegExp(last).test(end.text);
    }, [text, last]);
  }

  /** Waits until a message contains this text. */
  says(part) {
    return this.until(`a message says ${part}`, (shown, part) => shown.messages.some((m) => m.text.includes(part)), part);
  }

  /** Waits until the page is as wanted; wanted runs in the page and only has access to its arguments. */
  async until(what, wanted, given) {
    try {
      await this.page.waitForFunction(`(${wanted})((${look})(), ${JSON.stringify(given)})`, undefined, { timeout: this.patience, polling: 50 });
    } catch (err) {
      throw new Error(`not seen: ${what}; shown: ${JSON.stringify(await this.shown())} ${this.faults.join("; ")}`, { cause: err });
    }
  }

  shown() {
    return this.page.evaluate(`(${look})()`);
  }

  /** The successive texts of each message. */
  texts() {
    return this.page.evaluate(() => Object.values(window.texts ?? {}));
  }

  press(name, within = this.page) {
    return within.getByRole("button", { name, exact: true }).first().click();
  }

  /** The nth message of a kind, counted from 0; -1 is the last. */
  message(type, n) {
    const list = this.page.locator(`li[data-type=${type}]`);
    return n < 0 ? list.last() : list.nth(n);
  }

  async edit(n, text) {
    const message = this.message("human", n);
    await this.press("Edit", message);
    await message.getByLabel("Edited message").fill(text);
    await this.press("Save", message);
  }

  question() {
    return this.page.locator("section[aria-label^=Question]");
  }

  /** Fills the question's own field and submits it. */
  async answer(text) {
    await this.question().getByLabel("answer", { exact: true }).fill(text);
    await this.press("Submit", this.question());
  }

  async reject(reason) {
    await this.question().getByLabel("Reason").fill(reason);
    await this.press("Reject", this.question());
  }

  async reload() {
    await this.page.reload();
    await this.page.locator("main").waitFor();
  }

  alert() {
    return this.page.getByRole("alert").waitFor();
  }

  async thread() {
    await this.until("a thread", (shown) => shown.thread !== "");
    return (await this.shown()).thread;
  }

  /** Checks by id that no message appears twice. */
  async nothingTwice() {
    const ids = (await this.shown()).messages.map((m) => m.id);
    assert.equal(new Set(ids).size, ids.length, `a message twice: ${ids}`);
    return ids;
  }
}

/** The content of a page as data. It runs in the page. */
function look() {
  const main = document.querySelector("main");
  return {
    working: main?.dataset.working === "true",
    thread: main?.dataset.thread ?? "",
    messages: [...document.querySelectorAll("li[data-type]")].map((li) => ({ id: li.dataset.id, type: li.dataset.type, text: li.querySelector("p").textContent })),
    questions: [...document.querySelectorAll("section[aria-label*=uestion]")].map((section) => section.ariaLabel),
    files: [...document.querySelectorAll("ul[aria-label=Files] li")].map((li) => li.textContent),
    error: document.querySelector("[role=alert]")?.textContent ?? null,
  };
}
