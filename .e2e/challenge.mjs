// Runs apbridge bench with challenges in agbenchmark's format against the
// real JavaScript SDK and the real LangGraph server.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const bridge = process.env.E2E_BRIDGE;

function challenge(folder, name, task, files, more = {}) {
  const at = join(folder, name);
  mkdirSync(join(at, "artifacts_in", "in"), { recursive: true });
  writeFileSync(join(at, "artifacts_in", "in", "given.txt"), "given");
  const ground = { answer: "its own words", should_contain: ["Harbour"], should_not_contain: ["undefined"], files, eval: { type: "file" } };
  const info = { difficulty: "interface", description: "Tests if the agent can write a file", side_effects: [] };
  writeFileSync(join(at, "data.json"), JSON.stringify({ name, category: ["interface"], task, dependencies: [], cutoff: 60, ground, info, ...more }));
}

/** Runs the challenges of a folder, with an agent of the bridge or as the arguments say. */
async function benchmark(agent, make, which = [`${bridge}/agents/${agent}`]) {
  const folder = mkdtempSync(join(tmpdir(), "apbridge-challenges-"));
  try {
    make(folder);
    const report = join(folder, "report.json");
    const child = spawn(process.env.E2E_PROGRAM, ["bench", ...which, "--challenges", folder, "--report", report], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const [code] = await once(child, "exit");
    return { code, ...JSON.parse(readFileSync(report, "utf8")) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [agent, file, steps] of [["jsagent", "out/result.txt", 3], ["files", "output.txt", 2], ["whole", "output.txt", 1]]) {
  test(`challenges before ${agent}`, async () => {
    const report = await benchmark(agent, (folder) => {
      challenge(folder, "Word", "Write the word 'Harbour' to a file", [file]);
      challenge(folder, "Missing", "Write the word 'Harbour' to a file", ["missing.txt"], { dependencies: ["Word"] });
      challenge(folder, "Never", "Never tried", [file], { dependencies: ["Missing"] });
    });
    assert.equal(report.code, 1, "a challenge failed");
    const { Word, Missing, Never } = report.tests;
    assert.deepEqual([Word, Missing, Never].map((t) => [t.metrics.attempted, t.results[0].success]), [[true, true], [true, false], [false, false]], JSON.stringify(report));
    assert.equal(Word.results[0].n_steps, steps);
    assert.match(Missing.results[0].fail_reason, /there is no file missing\.txt/);
  });
}

test("an agent that is away fails its challenge, not the program", async () => {
  const report = await benchmark("away", (folder) => challenge(folder, "Word", "Write the word 'Harbour' to a file", ["a.txt"]));
  assert.deepEqual([report.code, report.tests.Word.results[0].success], [1, false]);
});

for (const [agent, url] of Object.entries(JSON.parse(process.env.E2E_A2A))) {
  const decodesTwice = agent === "a2agooldrest" && "the SDK has base64 within base64 there";
  test(`challenges before ${agent}, an A2A agent`, { skip: decodesTwice }, async () => {
    const make = (folder) => {
      challenge(folder, "Word", "file Harbour", ["note.txt"]);
      challenge(folder, "Missing", "fail", ["note.txt"]);
    };
    const report = await benchmark(agent, make, ["--agent", `${agent}=${url}`]);
    const { Word, Missing } = report.tests;
    assert.deepEqual([Word, Missing].map((t) => [t.metrics.attempted, t.results[0].success]), [[true, true], [true, false]], JSON.stringify(report));
  });
}
