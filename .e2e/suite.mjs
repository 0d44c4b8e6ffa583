// Runs tests against a bridge that was started for them, and ends the program.
import { run, stop, stopAll } from "./peers.mjs";

/**
 * Runs test files with this environment and time limit in milliseconds: first those in beside, two at a time, then the
 * others one after another. Stops the bridge and returns the exit code.
 */
export async function suite(child, files, env, timeout, beside = []) {
  const reporter = process.stdout.isTTY ? "spec" : "tap";
  const tests = (atOnce, list) => run(process.execPath, ["--test", `--test-concurrency=${atOnce}`, `--test-timeout=${timeout}`, `--test-reporter=${reporter}`, ...list], env);
  const first = beside.length > 0 ? await tests(2, beside) : 0;
  const code = (files.length > 0 ? await tests(1, files) : 0) || first;
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
