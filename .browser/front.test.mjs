// The bridge's own pages as users see them: at every width, light and dark, by keyboard, without scripts, and checked by axe.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { accessible, launch, shown as open, sticksOut, unfold } from "./window.mjs";

const { BROWSER_BRIDGE: bridge } = process.env;
const paths = ["/", "/docs"];

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const shown = (path, options, body) => open(browser, bridge + path, options, body);

for (const path of paths) {
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
    }

    test("is read without scripts, and loads nothing", () => shown(path, { javaScriptEnabled: false }, async (page) => {
      const asked = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.reload();
      assert.deepEqual(asked.filter((url) => !url.endsWith("/favicon.ico")), [bridge + path]);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("jsagent", { exact: true }).first().waitFor();
    }));

    test("is used by keyboard", () => shown(path, {}, async (page) => {
      const at = () => page.evaluate(() => {
        const e = document.activeElement;
        return { text: e.textContent.trim().slice(0, 40), outline: getComputedStyle(e).outlineStyle, left: e.getBoundingClientRect().left };
      });
      await page.keyboard.press("Tab");
      const skip = await at();
      assert.equal(skip.text, "Skip to the content");
      assert.ok(skip.left >= 0, "the link to the content is not seen");
      assert.notEqual(skip.outline, "none");
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement.id), "main");
      await page.keyboard.press("Tab");
      assert.notEqual((await at()).outline, "none");
    }));

    test("leads to the other page and back", () => shown(path, {}, async (page) => {
      const tabs = page.getByRole("navigation", { name: "Pages" });
      for (const [name, to] of [["Documentation", "/docs"], ["Home", "/"]]) {
        await tabs.getByRole("link", { name }).click();
        await page.waitForURL(bridge + to);
        assert.equal(await tabs.getByRole("link", { name }).getAttribute("aria-current"), "page");
      }
    }));
  });
}

test("a route opens to its example by keyboard", () => shown("/docs", {}, async (page) => {
  const route = page.locator("summary", { hasText: "POST /threads/search" }).first();
  await route.focus();
  await page.keyboard.press("Enter");
  await page.getByText(`curl -s ${bridge}/threads/search`).first().waitFor();
}));
