// The long-term store, and features that only LangGraph's Python server has.
import { nobody, says, tried } from "./caller.mjs";

export const store = {
  "items are put, read and deleted": async ({ sdk, mark }) => {
    const { store } = sdk;
    await store.putItem([mark, "users"], "ada", { name: "Ada", list: [1, { a: null }] });
    await store.getItem([mark, "users"], "ada");
    await store.putItem([mark, "users"], "ada", { name: "Ada L." });
    await store.getItem([mark, "users"], "ada");
    await tried(store.getItem([mark, "users"], "bob"));
    await store.deleteItem([mark, "users"], "ada");
    await tried(store.getItem([mark, "users"], "ada"));
    await store.deleteItem([mark, "users"], "ada");
  },
  "items are found": async ({ sdk, mark }) => {
    const { store } = sdk;
    for (const [key, age] of [["ada", 36], ["bob", 17], ["eve", 36]]) await store.putItem([mark, "users"], key, { key, age });
    await store.putItem([mark, "teams"], "x", { key: "x" });
    await store.searchItems([mark, "teams"]);
    await store.searchItems([mark, "users"], { filter: { key: "bob" } });
    await store.searchItems([mark, "users"], { filter: { age: { $lt: 18 } } });
    await store.searchItems([mark, "users"], { filter: { age: { $gte: 18 }, key: { $ne: "eve" } } });
    await store.searchItems([mark, "users"], { filter: { age: 99 } });
    await store.searchItems([mark, "nobody"]);
    await store.searchItems([mark, "users"], { filter: { key: "eve" }, limit: 1 });
  },
  "namespaces are listed": async ({ sdk, mark }) => {
    const { store } = sdk;
    for (const rest of [["a", "x"], ["a", "y"], ["b", "x"]]) await store.putItem([mark, ...rest], "k", {});
    await store.listNamespaces({ prefix: [mark] });
    await store.listNamespaces({ prefix: [mark], maxDepth: 2 });
    await store.listNamespaces({ prefix: [mark], suffix: ["x"] });
    await store.listNamespaces({ prefix: [mark, "*", "x"] });
    await store.listNamespaces({ prefix: [mark], limit: 1, offset: 1 });
    await store.listNamespaces({ prefix: [crypto.randomUUID()] });
  },
  "items that are refused": async ({ call, sdk }) => {
    await tried(sdk.store.putItem([], "k", {}));
    await call("PUT", "/store/items", { namespace: ["a.b"], key: "k", value: {} });
    await call("PUT", "/store/items", { namespace: ["a", ""], key: "k", value: {} });
    await call("PUT", "/store/items", { namespace: ["a"], key: "k", value: 7 });
    await call("PUT", "/store/items", { namespace: ["a"], value: {} });
    await call("PUT", "/store/items", { namespace: "a", key: "k", value: {} });
    await call("GET", "/store/items?namespace=a");
    await call("POST", "/store/items/search", { namespace_prefix: "a" });
    await call("POST", "/store/items/search", { namespace_prefix: ["a."] });
    await call("POST", "/store/namespaces", { prefix: "a" });
  },
  "what the JavaScript server does not have": async ({ sdk, thread }) => {
    const schedule = "0 0 1 1 *";
    await tried(sdk.crons.create("chat", { schedule, input: says("hi") }));
    await tried(sdk.crons.createForThread(await thread(), "chat", { schedule, input: says("hi") }));
    await tried(sdk.crons.search());
    await tried(sdk.crons.delete(nobody));
    await tried(sdk.threads.prune([nobody]));
    await tried(sdk.runs.cancelMany({ threadId: await thread(), runIds: [nobody] }));
  },
};
