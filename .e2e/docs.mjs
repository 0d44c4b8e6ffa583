// Runs the JavaScript programs on /docs and in the inspector unchanged, with the SDK that they import.
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

/** The program on the page at url. */
async function program(url, headers = {}) {
  const page = await (await fetch(`${url}/docs`, { headers: { accept: "text/html", ...headers } })).text();
  const [, code] = page.match(/<figure id="javascript">.*?<code>(.*?)<\/code>/s);
  return code.replace(/&(#?\w+);/g, (all, name) => signs[name] ?? all);
}

/** The output of a program in a folder from which its packages are found. */
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

describe("the program in JavaScript that the inspector shows of a run", () => {
  for (const [what, url, secret, agent] of [["", bridge, "", "jsagent"], [", with a key", keyed, key, "autogpt"]]) {
    test(`makes the run again${what}`, async () => {
      const headers = { "content-type": "application/json", ...(secret && { "x-api-key": secret }) };
      const json = async (path, init = {}) => (await fetch(url + path, { headers, ...init })).json();
      const content = "again $(id) `id` ${1+1} \"'\\ \u2028\u202e é😀";
      await json("/runs/wait", { method: "POST", body: JSON.stringify({ assistant_id: agent, input: { messages: [{ role: "user", content }] }, on_completion: "keep" }) }); // otherwise it is only listed for 5 s
      const [first, ...others] = (await json(`/inspect?text=${encodeURIComponent("again $(id)")}`)).runs;
      assert.equal(others.length, 0);
      const { programs, input } = await json(`/inspect/runs/${first.run_id}/again`);
      const [{ text }] = programs.flatMap((p) => p.code).filter((c) => c.language === "JavaScript");
      assert.match(text, /^[\n -~]*$/, "a character is not seen");
      assert.match(await prints(text, { APBRIDGE_KEY: secret }), /messages/);
      const { runs } = await json(`/inspect?text=${encodeURIComponent("again $(id)")}`);
      assert.equal(runs.length, 2);
      const again = await json(`/inspect/runs/${runs[0].run_id}/again`);
      assert.deepEqual(JSON.parse(again.input), JSON.parse(input));
      assert.equal(JSON.parse(input).messages[0].content, content);
    });
  }
});
