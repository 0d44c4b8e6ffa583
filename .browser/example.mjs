// The page of examples/chat, started as its README says: in a copy of the folder, so that nothing is left in this one.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, program } from "../.e2e/peers.mjs";

const chat = fileURLToPath(new URL("../examples/chat", import.meta.url));
const installed = ["node_modules", "dist"].map((name) => join(chat, name));

/** Installs and starts the page with npm, which takes as long as its registry does; gives its URL. */
export async function example(folder) {
  const copy = join(folder, "chat");
  cpSync(chat, copy, { recursive: true, filter: (file) => !installed.includes(file) });
  return program("example", "the chat is at ", "npm", ["start", "--", String(await freePort())], { cwd: copy, detached: true, patience: 600_000 });
}
