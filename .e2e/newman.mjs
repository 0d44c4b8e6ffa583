// The official Postman suite of the Agent Protocol v1, run by newman. Its one
// request to the internet is pointed at the agent under test, in memory.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import newman from "newman";

const specs = process.env.APBRIDGE_SPECS;

/** Why the suite cannot run, or false. */
export const skip = specs ? false : "APBRIDGE_SPECS does not name the folder with task-step-v1.postman.json";

function collection() {
  const text = readFileSync(join(specs, "task-step-v1.postman.json"), "utf8");
  return JSON.parse(text.replaceAll("https://postman-echo.com/delay/0", "{{url}}/ap/v1/agent/tasks"));
}

/** Runs the suite against the agent at base: {total, failures}. */
export async function suite(base) {
  const folder = mkdtempSync(join(tmpdir(), "apbridge-newman-"));
  writeFileSync(join(folder, "test_output.txt"), "Washington\n");
  try {
    const summary = await new Promise((resolve, reject) => {
      const envVar = [{ key: "url", value: base }];
      newman.run({ collection: collection(), envVar, workingDir: folder, reporters: [] }, (err, done) =>
        err ? reject(err) : resolve(done),
      );
    });
    return {
      total: summary.run.stats.assertions.total,
      failures: summary.run.failures.map((f) => `${f.source?.name}: ${f.error.message}`),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
