// A proxy of the bridge that can cut all open connections; later ones work.
import { once } from "node:events";
import { connect, createServer } from "node:net";

export async function wire(target) {
  const { hostname, port } = new URL(target);
  const open = new Set();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [[near, far], [far, near]]) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => open.delete(from)); // the pipe passes on an end after the last byte
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => open.forEach((socket) => socket.resetAndDestroy());
  return { url: `http://127.0.0.1:${server.address().port}`, cut, close: () => (server.close(), cut()) };
}
