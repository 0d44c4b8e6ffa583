// A run of tests against a bridge that was started for it, and the end of the program.
import { run, stop, stopAll } from "./peers.mjs";

/** Runs test files in order, with this environment and this many milliseconds each; stops the bridge. Gives the exit code. */
export async function suite(child, files, env, timeout) {
  const reporter = process.stdout.isTTY ? "spec" : "tap";
  const code = await run(process.execPath, ["--test", "--test-concurrency=1", `--test-timeout=${timeout}`, `--test-reporter=${reporter}`, ...files], env);
  const left = await stop(child);
  if (left !== 0) {
    console.error(`apbridge did not stop cleanly (exit ${left}):\n${child.tail.join("\n")}`);
    return 1;
  }
  if (code !== 0) console.error(`last lines of the bridge:\n${child.tail.join("\n")}`);
  return code;
}

/** Ends the program with the code that main gives, when everything is stopped that was started. */
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
