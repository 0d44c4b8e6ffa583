// A table of scenarios. Each runs against the real LangGraph server and through the bridge in front of that server, and all
// responses are compared.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { agreed, faults } from "./same/agreed.mjs";
import { assistants } from "./same/assistants.mjs";
import { caller } from "./same/caller.mjs";
import { differences } from "./same/compare.mjs";
import { runs } from "./same/runs.mjs";
import { state } from "./same/state.mjs";
import { store } from "./same/store.mjs";
import { streams } from "./same/streams.mjs";
import { studio } from "./same/studio.mjs";
import { threads } from "./same/threads.mjs";

const servers = [process.env.E2E_LANGGRAPH, process.env.E2E_BRIDGE];
const tables = { threads, state, runs, streams, assistants, store, studio };
const show = (value) => inspect(value, { depth: 12, breakLength: 160 }).slice(0, 1500);

for (const [noun, table] of Object.entries(tables)) {
  describe(`${noun} as a LangGraph server has them`, { concurrency: 8 }, () => {
    for (const [what, scenario] of Object.entries(table)) {
      test(what, { timeout: 120_000 }, async () => {
        const [server, bridge] = await Promise.all(servers.map(async (base) => {
          const client = caller(base);
          try {
            await scenario(client);
          } catch (err) {
            client.calls.push({ name: `failed: ${err.message.split("\n")[0]}` });
          }
          return client.recorded();
        }));
        const found = differences(server, bridge, `${noun}: ${what}`);
        assert.deepEqual(found.map(({ at, server, bridge }) => `${at}: the server ${show(server)}, the bridge ${show(bridge)}`), []);
      });
    }
  });
}

describe("what is known of the differences", () => {
  for (const one of agreed) test(`still so: ${one.why}`, { skip: one.sometimes }, () => assert.ok(one.seen, "it is not seen any more: leave it out"));
  for (const one of faults) {
    test(`fault: ${one.why}`, (t) => {
      if (!one.seen && one.sometimes) return;
      assert.ok(one.seen, "it is not seen any more: leave it out");
      t.todo([...one.seen].join("; ").slice(0, 150));
      assert.fail("the bridge differs");
    });
  }
});
