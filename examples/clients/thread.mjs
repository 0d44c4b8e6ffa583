// A conversation over threads and runs, in JavaScript, without any package.
//
//   node examples/clients/thread.mjs [BRIDGE URL] [AGENT]
//
// With npm's @langchain/langgraph-sdk the same is
//   new Client({ apiUrl }).runs.stream(thread, agent, { input, streamMode })
const bridge = process.argv[2] ?? "http://127.0.0.1:8080";
const agent = process.argv[3];

async function post(path, body, headers = {}) {
  const response = await fetch(bridge + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Yields {event, data, id} of an event stream as they arrive. */
async function* frames(response) {
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const frame = Object.fromEntries(
        block.split("\n").filter((line) => /^\w+: /.test(line)).map((line) => line.split(/: (.*)/s).slice(0, 2)),
      );
      if (frame.event) yield { ...frame, data: JSON.parse(frame.data) };
    }
  }
}

const { thread_id: thread } = await (await post("/threads", {})).json();
console.log("thread", thread);

const question = (content) => ({
  ...(agent && { assistant_id: agent }),
  input: { messages: [{ role: "user", content }] },
  stream_mode: ["updates"],
});

for (const text of ["hello", "what did I say before?"]) {
  console.log(`\nyou: ${text}`);
  for await (const { event, data, id } of frames(await post(`/threads/${thread}/runs/stream`, question(text)))) {
    if (event !== "updates") continue;
    for (const [node, delta] of Object.entries(data)) {
      console.log(`${node} (${id}): ${delta.messages?.at(-1)?.content ?? JSON.stringify(delta)}`);
    }
  }
}
