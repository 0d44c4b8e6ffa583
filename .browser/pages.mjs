// The clients' pages: bundled, and served on a free loopback port.
import { build } from "esbuild";
import { createServer } from "node:http";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clients } from "./clients.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** The path of a client's page: clients with other packages have other bundles. */
export const pathOf = ({ page, sdk }) => `/${[page, sdk].filter(Boolean).join("-").replaceAll(/[^a-z0-9]+/gi, "-")}`;

/** Bundles every page into the folder and serves them; returns the server's URL and a function that closes it. */
export async function pages(folder) {
  const bundles = new Map(Object.values(clients).map((client) => [pathOf(client), client]));
  await Promise.all([...bundles].map(([path, client]) => bundle(client, join(folder, `${path}.js`))));
  const server = createServer(async (req, res) => {
    const path = new URL(req.url, "http://pages").pathname;
    if (bundles.has(path)) return send(res, "text/html", html(path));
    if (path.endsWith(".js") && bundles.has(path.slice(0, -3))) return send(res, "text/javascript", await readFile(join(folder, path)));
    res.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function bundle({ page, sdk }, outfile) {
  return build({
    absWorkingDir: here, entryPoints: [join(here, "pages", `${page}.jsx`)], outfile, alias: sdk ? { "langgraph-sdk": sdk } : {},
    bundle: true, minify: true, format: "esm", target: "chrome120", jsx: "automatic", define: { "process.env.NODE_ENV": '"production"' }, logLevel: "warning",
  });
}

const html = (path) => `<!doctype html><meta charset="utf-8"><title>chat</title><link rel="icon" href="data:,">
<div id="page"></div><script type="module" src="${path}.js"></script>`;

function send(res, type, body) {
  res.writeHead(200, { "content-type": `${type}; charset=utf-8`, "cache-control": "max-age=600" }).end(body);
}
