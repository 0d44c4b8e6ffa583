// Every client × behaviour × kind of agent. expected.json lists failures with their fault (client, agent, refused or bridge), the
// reason, and a part of the message. A cell fails if it works although it is listed, if it fails with another message, or
// if it fails without being listed.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { behaviours, kinds } from "./behaviours.mjs";
import { Chat } from "./chat.mjs";
import { clients } from "./clients.mjs";
import { compare } from "./compatibility.mjs";
import { pathOf } from "./pages.mjs";
import { tellingSchemas } from "./schemas.mjs";
import { wire } from "./wire.mjs";

const { BROWSER_BRIDGE: bridge, BROWSER_PAGES: site, BROWSER_CLIENTS, BROWSER_UPDATE, BROWSER_DIRECT, BROWSER_ROWS = "" } = process.env;
const only = BROWSER_CLIENTS ? BROWSER_CLIENTS.split("|") : [];
const expectedFile = new URL("expected.json", import.meta.url);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
// In milliseconds. A page that first requests a graph's schemas waits until the JavaScript server returns 500, which takes
// half a minute on a busy machine. Then the bridge returns its own schemas.
const patience = { wanted: 10_000, doubted: 3_000 };
const schemasTake = BROWSER_DIRECT ? 0 : 45_000;

const results = [];

let browser, tabs, schemas;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--process-per-site"] });
  if (BROWSER_DIRECT) schemas = await tellingSchemas(bridge);
  tabs = await browser.newContext(); // one for all cells, for its cache; each cell has a separate connection to the bridge
});
after(async () => {
  await browser?.close();
  schemas?.close();
  writeFileSync(new URL("tmp/results.json", import.meta.url), JSON.stringify(results, null, 1));
});

/** One cell: the behaviour on a separate page. */
async function tried(client, behaviour, name, kind, limit) {
  const way = await wire(client.asksSchemas && schemas ? schemas.url : bridge);
  const address = new URL(pathOf(client), site);
  for (const [key, value] of Object.entries({ url: way.url, agent: kind.agent, ...client.query })) address.searchParams.set(key, value);
  let chat;
  try {
    chat = await Chat.open(tabs, address.href, limit);
    await behaviour.run({ chat, kind, name, client, bridge, wire: way });
  } finally {
    await chat?.close();
    way.close();
  }
}

/** The entry of a failing cell in expected.json. Faults of the bridge do not occur without it. */
const isKnown = (client, behaviour, name) =>
  expected.find((e) => e.clients.includes(client) && e.behaviour === behaviour && e.agent === name && !(BROWSER_DIRECT && e.fault === "bridge"));

/** Checks that an expected failure still has the same reason: the message must contain all listed texts. */
const failsAsKnown = (failure, { seen = [] }) => seen.length > 0 && seen.every((words) => failure.message.includes(words));

async function judged(t, client, behaviour, name, kind) {
  const known = isKnown(client, behaviour, name);
  const doubted = known && !BROWSER_UPDATE;
  const outcome = (patience) => tried(clients[client], behaviours[behaviour], name, kind, patience + (clients[client].asksSchemas ? schemasTake : 0)).then(() => null, (err) => err);
  let failure = await outcome(doubted ? patience.doubted : patience.wanted);
  if (doubted && failure && !failsAsKnown(failure, known)) failure = await outcome(patience.wanted); // it may not have got as far
  results.push({ client, behaviour, agent: name, works: failure === null, known, failure: failure?.message });
  if (failure && known) return assert.ok(failsAsKnown(failure, known), `it fails otherwise than by ${JSON.stringify(known.seen)}, which expected.json wants to see: ${failure.message}`);
  if (doubted) return assert.fail(BROWSER_DIRECT ? "it works without the bridge" : "it works now; make compatibility takes it out of expected.json");
  if (failure && BROWSER_DIRECT) return t.diagnostic(`this fails without the bridge: ${failure.message}`); // which is acceptable, since the bridge may do better
  if (failure) throw failure;
}

const wanted = (client, behaviour, name, kind) =>
  (only.length === 0 || only.includes(client)) && !clients[client].lacks.includes(behaviour) && behaviour.includes(BROWSER_ROWS) && (BROWSER_DIRECT ? name === "graph" : !kind.directOnly);

describe("clients", { concurrency: 3 }, () => {
  for (const client of Object.keys(clients)) {
    for (const [behaviour, { kinds }] of Object.entries(behaviours)) {
      for (const [name, kind] of Object.entries(kinds)) {
        if (wanted(client, behaviour, name, kind)) test(`${client}: ${behaviour} (${name})`, (t) => judged(t, client, behaviour, name, kind));
      }
    }
  }
});

const partly = only.length > 0 || BROWSER_ROWS || BROWSER_DIRECT ? "only a part was run" : false;

test("the compatibility page and GET /info say what was seen", { skip: partly }, () => {
  results.sort((a, b) => order(a) - order(b));
  assert.deepEqual(results.filter((r) => !r.works && !r.known).map((r) => `${r.client}: ${r.behaviour} (${r.agent})`), [], "what does not work has a reason in expected.json");
  const stale = compare(results, expected, Boolean(BROWSER_UPDATE));
  if (BROWSER_UPDATE) return keepWhatFails();
  assert.deepEqual(stale, [], "make compatibility writes them");
});

const order = ({ client, behaviour, agent }) =>
  (Object.keys(clients).indexOf(client) * 100 + Object.keys(behaviours).indexOf(behaviour)) * 10 + Object.keys(kinds).indexOf(agent);

/** Writes expected.json without the cells that work. */
function keepWhatFails() {
  const left = expected.map((e) => ({ ...e, clients: e.clients.filter((client) => !results.some((r) => r.known === e && r.client === client && r.works)) }));
  writeFileSync(expectedFile, `[\n${left.filter((e) => e.clients.length > 0).map((e) => JSON.stringify(e)).join(",\n")}\n]\n`);
}
