// A window of headless Chromium, and common checks of the bridge's own pages.
import axe from "axe-core";
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";

/** Starts the browser of the tests with additional options. */
export const launch = (...options) => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...options] });

/** Opens a page in a new window for body. Unexpected complaints of the browser fail the test. */
export async function shown(browser, url, options, body, expected = /^$/) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints = [];
  page.on("console", (message) => {
    // Chromium requests an icon by itself if a test bypasses the page's policy.
    if (!message.location().url.endsWith("/favicon.ico")) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  try {
    await page.goto(url);
    await body(page);
    assert.deepEqual(complaints.filter((text) => !expected.test(text)), []);
  } finally {
    await context.close();
  }
}

/** Opens all folded elements and lays out those that are not yet scrolled into view. */
export const unfold = (page) => page.evaluate(() => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  document.querySelectorAll("main *").forEach((e) => { if (getComputedStyle(e).contentVisibility === "auto") e.style.contentVisibility = "visible"; });
});

/** The elements that overflow the window on the right and are not inside a scrolling element. */
export const sticksOut = (page) => page.evaluate(() => {
  const scrolls = (e) => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const out = [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e));
  return { wide: document.documentElement.scrollWidth > innerWidth, out: out.slice(0, 5).map((e) => e.outerHTML.slice(0, 120)) };
});

/**
 * Checks that axe finds no faults, and that the page is as light or dark as requested. Axe bypasses the page's policy and
 * skips the frames of previews, which have no origin and no scripts to respond.
 */
export async function accessible(page, colorScheme) {
  await unfold(page);
  await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() => window.axe.run(document, { iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  assert.deepEqual(violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html)]), []);
  assert.ok(passes.some((p) => p.id === "color-contrast"), "contrast was not looked at");
  const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(back === "rgb(255, 255, 255)", colorScheme === "light");
}

/** Takes a small picture for docs/inspector.md, which is kept with BROWSER_PICTURES=1. */
export async function picture(page, name) {
  const png = await page.screenshot();
  if (process.env.BROWSER_PICTURES !== "1") return; // how much is on the page depends on the tests before
  assert.ok(png.length <= 150_000, `${name} has ${png.length} bytes`);
  writeFileSync(new URL(`../docs/inspector/${name}.png`, import.meta.url), png);
}

/** Waits up to a minute for a result. */
export async function until(what) {
  for (const last = Date.now() + 60_000; Date.now() < last; await new Promise((r) => setTimeout(r, 20))) {
    const found = await what();
    if (found) return found;
  }
  throw new Error(`not within a minute: ${what}`);
}
