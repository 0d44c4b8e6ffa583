// The program in JavaScript that /docs shows, run as it is copied, with the SDK that it names.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const { E2E_BRIDGE: bridge, E2E_KEYED: keyed, E2E_KEY: key } = process.env;
const run = promisify(execFile);
const signs = { lt: "<", gt: ">", amp: "&", quot: '"', "#34": '"', "#39": "'", "#43": "+" };

/** The program as the page at url shows it. */
async function program(url, headers = {}) {
  const page = await (await fetch(`${url}/docs`, { headers: { accept: "text/html", ...headers } })).text();
  const [, code] = page.match(/<figure id="javascript">.*?<code>(.*?)<\/code>/s);
  return code.replace(/&(#?\w+);/g, (all, name) => signs[name] ?? all);
}

/** What a program prints that stands where its packages are found. */
async function prints(code, env = {}) {
  const here = fileURLToPath(new URL("tmp/", import.meta.url));
  mkdirSync(here, { recursive: true });
  const folder = mkdtempSync(join(here, "docs-"));
  try {
    writeFileSync(join(folder, "program.mjs"), code);
    return (await run(process.execPath, [join(folder, "program.mjs")], { env: { ...process.env, ...env } })).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the program in JavaScript that /docs shows", () => {
  test("makes a run of the default agent", async () => {
    const code = await program(bridge);
    assert.match(code, /"jsagent"/);
    assert.match(await prints(code), /asked: hi/);
  });

  test("sends the key that the bridge asks for", async () => {
    const code = await program(keyed, { "x-api-key": key });
    assert.match(code, /"autogpt"/);
    assert.match(await prints(code, { APBRIDGE_KEY: key }), /messages/);
    await assert.rejects(prints(code, { APBRIDGE_KEY: "wrong" }), /401/);
  });
});
