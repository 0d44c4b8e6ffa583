// Every method of every client class of the LangGraph SDK with task/step agents. Methods that a LangGraph server lacks are
// also tried with one; the others are compared with it (same.mjs). The methods are found by reflection, and a method without
// a row in methods/ fails, so that new methods of the SDK are noticed.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";
import { refusals, refused } from "./methods/refused.mjs";
import * as assistants from "./methods/assistants.mjs";
import * as crons from "./methods/crons.mjs";
import * as runs from "./methods/runs.mjs";
import * as store from "./methods/store.mjs";
import * as threads from "./methods/threads.mjs";

const tables = { assistants, crons, runs, store, threads };

/** The agents, with the last output and the files of a run with the input "hello". */
const agents = [
  { agent: "jsagent", last: /^done$/, messages: 4, file: "/out/result.txt" },
  { agent: "autogpt", last: /^All done$/, messages: 5, updates: 3, file: "/src/output.txt" },
  { agent: "chat", last: /^you said: hello$/, messages: 3, only: /^crons|^threads\.(prune|joinStream)$|^runs\.cancelMany$/ },
];

const rows = { ...refusals };
for (const [client, table] of Object.entries(tables)) {
  for (const [method, row] of Object.entries(table)) rows[`${client}.${method}`] = row;
}

/** The names of a client's methods, including those of its base classes up to the SDK's base. */
function methodsOf(client) {
  const names = [];
  for (let p = Object.getPrototypeOf(client); p && p.constructor.name !== "BaseClient" && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    names.push(...Object.getOwnPropertyNames(p).filter((name) => name !== "constructor" && typeof p[name] === "function"));
  }
  return names;
}

/** All methods of an SDK as "client.method". */
function enumerate(sdk) {
  return Object.entries(sdk)
    .filter(([, client]) => client !== null && typeof client === "object")
    .flatMap(([name, client]) => methodsOf(client).map((method) => `${name}.${method}`));
}

const open = () => new Client({ apiUrl: process.env.E2E_BRIDGE, apiKey: null, callerOptions: { maxRetries: 0 } });

describe("methods of the SDK", () => {
  const methods = enumerate(open());

  test("every method has a row", () => {
    assert.ok(methods.length >= 40, `only ${methods.length} were found: ${methods}`);
    assert.deepEqual(methods.filter((method) => !rows[method]), []);
  });

  test("every row is a method", () => {
    const known = new Set(methods);
    assert.deepEqual(Object.keys(rows).filter((row) => !known.has(row)), []);
  });

  for (const about of agents) {
    describe(`before ${about.agent}`, { concurrency: 8 }, () => {
      const sdk = open();
      const ctx = { sdk, ...about };
      // One finished run on a thread, for rows that only read.
      before(async () => {
        ctx.done = await sdk.threads.create({ metadata: { mark: crypto.randomUUID() } });
        ctx.values = await sdk.runs.wait(ctx.done.thread_id, ctx.agent, { input: ctx.says("hello") });
      });
      ctx.says = (content) => ({ messages: [{ role: "user", content }] });
      for (const method of methods.filter((method) => about.only?.test(method) ?? true)) {
        const row = rows[method];
        if (!row) continue; // reported above
        if (row.later) test(method, { skip: row.later }, () => {});
        else if (row.status) test(`${method} is refused with ${row.status}`, () => refused(row, ctx));
        else test(method, () => row(ctx));
      }
    });
  }
});
