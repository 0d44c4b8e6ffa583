// Puts items into LangGraph JS's in-memory store and searches them by meaning with
// the embeddings of an endpoint. Prints the median duration of a search in ms and the
// number of puts per second:
//
//   node memory.mjs ENDPOINT ITEMS
import { InMemoryStore } from "@langchain/langgraph-checkpoint";

const [endpoint, items] = [process.argv[2], Number(process.argv[3])];
const dims = 384;

async function embedDocuments(input) {
  const res = await fetch(`${endpoint}/embeddings`, { method: "POST", body: JSON.stringify({ model: "m", input }) });
  const { data } = await res.json();
  return data.map(({ embedding }) => {
    const bytes = Uint8Array.from(Buffer.from(embedding, "base64"));
    return Array.from(new Float32Array(bytes.buffer));
  });
}

const embedQuery = async (text) => (await embedDocuments([text]))[0];
const store = new InMemoryStore({ index: { dims, embeddings: { embedDocuments, embedQuery }, fields: ["$"] } });

const put = (i) =>
  store.put(["users", `u${i % 1000}`], `k${i}`, {
    kind: Math.floor(i / 1000) % 10,
    text: "something to remember about a user, of some length",
  });

// 64 at a time, like the clients of the bridge.
async function each(from, to, work) {
  let next = from;
  await Promise.all(Array.from({ length: 64 }, async () => { while (next < to) await work(next++); }));
}

await each(0, items, put);
const again = Math.min(items, 2000);
let began = performance.now();
await each(0, again, put);
const rate = again / ((performance.now() - began) / 1000);

const took = [];
for (let n = 0; n < 9; n++) {
  began = performance.now();
  const found = await store.search(["users"], { query: `recollection${n}`, limit: 10 });
  if (found.length !== 10) throw new Error(`found ${found.length} items`);
  took.push(performance.now() - began);
}
took.sort((a, b) => a - b);
console.log(JSON.stringify({ search: took[4], put: rate }));
