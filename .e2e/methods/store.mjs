import assert from "node:assert/strict";
import { recent, refuses } from "./checks.mjs";

const root = ({ agent }) => `m-${agent}-${crypto.randomUUID()}`;
const keys = (found) => found.items.map((item) => item.key).sort();

export async function putItem(ctx) {
  const { store } = ctx.sdk;
  const ns = [root(ctx), "put"];
  assert.ok((await store.putItem(ns, "k", { n: 1 })) == null, "204");
  await store.putItem(ns, "k", { n: 2, list: [1, { a: null }] }, { index: false, ttl: 5 });
  assert.deepEqual((await store.getItem(ns, "k")).value, { n: 2, list: [1, { a: null }] });
  await refuses(store.putItem([], "k", {}), 422, "invalid_request");
  await refuses(store.putItem(ns, "k", 7), 422, "invalid_request");
}

export async function getItem(ctx) {
  const { store } = ctx.sdk;
  const ns = [root(ctx), "a", "b"];
  await store.putItem(ns, "k.with/marks", { name: "Ada" });
  const item = await store.getItem(ns, "k.with/marks", { refreshTtl: true });
  assert.deepEqual([item.namespace, item.key, item.value], [ns, "k.with/marks", { name: "Ada" }]);
  recent(item.createdAt);
  recent(item.updated_at);
  assert.equal(await store.getItem(ns, "other"), null);
}

export async function deleteItem(ctx) {
  const { store } = ctx.sdk;
  const ns = [root(ctx)];
  await store.putItem(ns, "k", {});
  assert.ok((await store.deleteItem(ns, "k")) == null);
  assert.equal(await store.getItem(ns, "k"), null);
  assert.ok((await store.deleteItem(ns, "k")) == null, "what is gone may be deleted again");
}

export async function searchItems(ctx) {
  const { store } = ctx.sdk;
  const top = root(ctx);
  await store.putItem([top, "users"], "ada", { name: "Ada", age: 36, role: "admin" });
  await store.putItem([top, "users"], "bob", { name: "Bob", age: 17, role: "user" });
  await store.putItem([top, "users2"], "eve", { name: "Eve", age: 50, role: "user" });
  assert.deepEqual(keys(await store.searchItems([top])), ["ada", "bob", "eve"]);
  assert.deepEqual(keys(await store.searchItems([top, "users"])), ["ada", "bob"], "a prefix ends with a label");
  assert.deepEqual(keys(await store.searchItems([top], { filter: { role: "user", age: { $lt: 18 } } })), ["bob"]);
  const pages = [];
  for (let offset = 0; offset < 3; offset += 2) pages.push(...keys(await store.searchItems([top], { limit: 2, offset })));
  assert.deepEqual(pages.sort(), ["ada", "bob", "eve"]);
  const words = await store.searchItems([top], { query: "ADMIN, or Bob's user?" });
  assert.deepEqual(words.items.map((item) => item.key), ["bob", "ada", "eve"], "the best first");
  assert.ok(words.items.every((item) => item.score > 0 && item.score < 1), "scores");
  assert.deepEqual((await store.searchItems([top, "users"], { query: "Eve !%" })).items, []);
}

export async function listNamespaces(ctx) {
  const { store } = ctx.sdk;
  const top = root(ctx);
  for (const ns of [["a", "x"], ["a", "y"], ["b", "x"]]) await store.putItem([top, ...ns], "k", {});
  const { namespaces } = await store.listNamespaces({ prefix: [top] });
  assert.deepEqual(namespaces.sort(), [[top, "a", "x"], [top, "a", "y"], [top, "b", "x"]]);
  assert.deepEqual((await store.listNamespaces({ prefix: [top], maxDepth: 2 })).namespaces.sort(), [[top, "a"], [top, "b"]]);
  assert.deepEqual((await store.listNamespaces({ prefix: [top, "*"], suffix: ["x"] })).namespaces.sort(), [[top, "a", "x"], [top, "b", "x"]]);
  assert.equal((await store.listNamespaces({ prefix: [top], limit: 1, offset: 1 })).namespaces.length, 1);
}
