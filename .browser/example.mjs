// The page of examples/chat, started as in its README, but in a copy of the folder, so that no files are left in it.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, program } from "../.e2e/peers.mjs";

const chat = fileURLToPath(new URL("../examples/chat", import.meta.url));
const installed = ["node_modules", "dist"].map((name) => join(chat, name));

/** Installs and starts the page with npm and returns its URL. The time depends on npm's registry. */
export async function example(folder) {
  const copy = join(folder, "chat");
  cpSync(chat, copy, { recursive: true, filter: (file) => !installed.includes(file) });
  return program("example", "the chat is at ", "npm", ["start", "--", String(await freePort())], { cwd: copy, detached: true, patience: 600_000 });
}
