// Runs the SDK example of docs/approval.md unchanged.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

test("the guide's example approves a command that is then run", () => {
  const guide = readFileSync(new URL("../docs/approval.md", import.meta.url), "utf8");
  const shown = guide.match(/```js\n(.*?)```/s)[1];
  const file = fileURLToPath(new URL("./tmp/approval-guide.mjs", import.meta.url)); // next to node_modules
  writeFileSync(file, shown.replace("http://127.0.0.1:8080", process.env.E2E_BRIDGE));
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 60_000 });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^may it\? write_to_file \{.*write it.*\}\n.*All done/s);
  } finally {
    rmSync(file);
  }
});
