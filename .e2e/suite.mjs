// Runs tests against a bridge that was started for them, and ends the program.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run, stop, stopAll } from "./peers.mjs";

/**
 * Runs test files with this environment and time limit in milliseconds: first those in beside, two at a time, then the
 * others one after another. Stops the bridge and returns the exit code.
 *
 * E2E_AGAIN names a file. Up to three files with failed tests are then repeated, alone, because on a busy machine one
 * test of hundreds is occasionally late. The names of those repeated are added to that file.
 */
export async function suite(child, files, env, timeout, beside = []) {
  const folder = mkdtempSync(join(tmpdir(), "apbridge-failed-"));
  const reporter = process.stdout.isTTY ? "spec" : "tap", list = join(folder, "list");
  const tests = async (atOnce, files) => {
    if (files.length === 0) return [0, []];
    const reporters = [`--test-reporter=${reporter}`, "--test-reporter-destination=stdout", `--test-reporter=${fileURLToPath(new URL("failed.mjs", import.meta.url))}`, `--test-reporter-destination=${list}`];
    const code = await run(process.execPath, ["--test", `--test-concurrency=${atOnce}`, `--test-timeout=${timeout}`, ...reporters, ...files], env);
    return [code, [...new Set(readFileSync(list, "utf8").split("\n").filter(Boolean))]];
  };
  const results = [await tests(2, beside), await tests(1, files)];
  let code = results[0][0] || results[1][0];
  const failed = results.flatMap(([, names]) => names), unnamed = results.some(([code, names]) => code !== 0 && names.length === 0);
  if (code !== 0 && process.env.E2E_AGAIN && !unnamed && failed.length <= 3) {
    for (const file of failed) {
      console.log(`# ${basename(file)} failed: run again, alone`);
      appendFileSync(process.env.E2E_AGAIN, `${basename(file)}\n`);
    }
    [code] = await tests(1, failed);
  }
  rmSync(folder, { recursive: true });
  const left = await stop(child);
  if (left !== 0) {
    console.error(`apbridge did not stop cleanly (exit ${left}):\n${child.tail.join("\n")}`);
    return 1;
  }
  if (code !== 0) console.error(`last lines of the bridge:\n${child.tail.join("\n")}`);
  return code;
}

/** Stops everything that was started and ends the program with the code that main returns. */
export async function exitWith(main) {
  let code = 1;
  try {
    code = await main();
  } catch (err) {
    console.error(err.message);
  } finally {
    await stopAll();
  }
  process.exit(code);
}
