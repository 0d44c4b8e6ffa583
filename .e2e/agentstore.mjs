// A bridge that uses the store of its agent (store.agent): the graph reads items that clients put, and clients read items
// that the graph puts. The same calls to the server and through the bridge return the same, since it is one store.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "@langchain/langgraph-sdk";

const options = { callerOptions: { maxRetries: 0 } };
const server = new Client({ ...options, apiUrl: process.env.E2E_LANGGRAPH });
const bridge = new Client({ ...options, apiUrl: process.env.E2E_STORE });
const apart = new Client({ ...options, apiUrl: process.env.E2E_BRIDGE });
const clients = [server, bridge];

/** Sends the graph a text, which it stores, and returns the items that it finds. */
async function told(client, words) {
  const { messages } = await client.runs.wait(null, "keeper", { input: { messages: [{ role: "user", content: words }] } });
  return messages.at(-1).content;
}

/** Sends both the same request and returns the response. */
async function same(ask) {
  const [want, got] = await Promise.all(clients.map(ask));
  assert.deepEqual(got, want);
  return want;
}

describe("the store of the agent", () => {
  test("what a client puts the graph finds, and what the graph puts the client finds", async () => {
    await bridge.store.putItem(["notes"], "from the client", { text: "hello" });
    assert.match(await told(bridge, "from the graph"), /from the client/);
    const item = await same((c) => c.store.getItem(["notes"], "from the graph"));
    assert.deepEqual(item.value, { text: "from the graph" });
    assert.ok(item.createdAt && item.updatedAt);
    await bridge.store.deleteItem(["notes"], "from the client");
    assert.doesNotMatch(await told(bridge, ""), /from the client/);
    assert.equal(await same((c) => c.store.getItem(["notes"], "from the client")), null);
  });

  test("items and namespaces are listed alike", async () => {
    for (const [i, name] of ["ada", "bob", "eve"].entries()) await clients[i % 2].store.putItem(["people", name], "drink", { cups: i });
    const { items } = await same((c) => c.store.searchItems(["people"], { limit: 10 }));
    assert.equal(items.length, 3);
    assert.equal((await same((c) => c.store.searchItems(["people"], { filter: { cups: 1 } }))).items.length, 1);
    assert.equal((await same((c) => c.store.searchItems(["people"], { limit: 1, offset: 2 }))).items.length, 1);
    const { namespaces } = await same((c) => c.store.listNamespaces({ prefix: ["people"] }));
    assert.equal(namespaces.length, 3);
    assert.deepEqual((await same((c) => c.store.listNamespaces({ prefix: ["people"], maxDepth: 1 }))).namespaces, [["people"]]);
  });

  test("without it the two are apart", async () => {
    await apart.store.putItem(["notes"], "for the bridge alone", { text: "x" });
    assert.doesNotMatch(await told(apart, "for the graph alone"), /for the bridge alone/);
    assert.equal(await apart.store.getItem(["notes"], "for the graph alone"), null);
  });
});
