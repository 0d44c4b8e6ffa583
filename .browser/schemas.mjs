// A proxy to a LangGraph server that serves a graph's schemas itself. The JavaScript server works on them for a quarter
// of a minute and returns 500, which the SDK retries several times. A page that first requests them would show nothing.
import { once } from "node:events";
import { createServer, request } from "node:http";

const state = { type: "object", properties: { messages: { type: "array" }, files: { type: "object" } } };
const empty = { type: "object", properties: {} };
const schemas = { input_schema: state, output_schema: state, state_schema: state, config_schema: empty, context_schema: empty };

/** Returns the proxy's URL and a function that closes it. */
export async function tellingSchemas(target) {
  const server = createServer((req, res) => {
    if (req.method === "GET" && req.url.endsWith("/schemas")) {
      res.writeHead(200, { "content-type": "application/json", "access-control-allow-origin": "*" }).end(JSON.stringify(schemas));
      return;
    }
    const far = request(new URL(req.url, target), { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    far.on("error", () => res.destroy());
    res.on("close", () => far.destroy());
    req.pipe(far);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => (server.close(), server.closeAllConnections()) };
}
