// A client that records its calls and their responses, in the order of the calls.
import { Client } from "@langchain/langgraph-sdk";
import { frames, until } from "../http.mjs";

const kept = ["content-type", "content-location", "location", "x-pagination-total", "x-pagination-next"];
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** A scenario's means: the SDK, recorded; quiet, the SDK not recorded, for waiting; a mark that is unique; and what many scenarios do. */
export function caller(base) {
  const calls = [];
  const open = (fetch) => new Client({ apiUrl: base, apiKey: null, callerOptions: { maxRetries: 0, fetch } });
  const sdk = open(keeping);
  const quiet = open(fetch);

  async function keeping(url, init = {}) {
    const one = { name: `${init.method ?? "GET"} ${String(url).slice(base.length).replaceAll(uuid, "{}")}` };
    calls.push(one);
    const response = await fetch(url, init);
    one.status = response.status;
    one.headers = Object.fromEntries(kept.map((name) => [name, response.headers.get(name)]).filter(([, value]) => value !== null));
    one.read = read(response.clone());
    return response;
  }

  return {
    sdk, quiet, calls, mark: crypto.randomUUID(), until,

    /** One call without the SDK and its body; a text is sent unchanged. */
    async call(method, path, body, headers = {}) {
      const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
      await keeping(base + path, { method, headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers }, ...sent });
      const { body: data, frames } = await calls.at(-1).read;
      return frames ?? data;
    },

    /** Creates a thread and returns its id. */
    async thread(payload) {
      return (await sdk.threads.create(payload)).thread_id;
    },

    /** Creates a thread on which a graph has run with this input. */
    async ran(graph, input, more = {}) {
      const { thread_id } = await sdk.threads.create();
      await sdk.runs.wait(thread_id, graph, { input, raiseError: false, ...more });
      return thread_id;
    },

    /** Waits until a run's status is one of these. */
    status(thread, run, ...wanted) {
      return until(`status ${wanted}`, () => quiet.runs.get(thread, run), (r) => wanted.includes(r.status), 60_000);
    },

    /** The calls and their responses, when all have arrived. */
    recorded() {
      return Promise.all(calls.map(async ({ read, ...one }) => ({ ...one, ...await read })));
    },
  };
}

/** A body as data: the frames of a stream, JSON decoded, or text. */
async function read(response) {
  let text = "";
  try {
    text = await response.text();
  } catch {
    // the reader has left the stream
  }
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) return { frames: frames(text) };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { body: text };
  }
}

/** An input with a user's message; its id is the same on every server. */
export const says = (content, n = 1) => ({ messages: [{ type: "human", content, id: `${`${n}`.repeat(8)}-1111-4111-8111-111111111111` }] });

/** Collects a stream. */
export async function collect(stream) {
  const list = [];
  for await (const frame of stream) list.push(frame);
  return list;
}

/** Waits for a call that may be refused. The response is compared in either case. */
export const tried = (call) => call.catch(() => undefined);

export const nobody = "00000000-0000-4000-8000-000000000000";
