// Writes docs/compatibility.md and the table for the bridge's GET /info from the results of a run.
import { readFileSync, writeFileSync } from "node:fs";
import { behaviours, kinds } from "./behaviours.mjs";
import { clients } from "./clients.mjs";

const page = new URL("../docs/compatibility.md", import.meta.url);
const table = new URL("../adapter/threadrun/face/compatibility.json", import.meta.url);
const begin = "<!-- written by make compatibility -->\n";
const end = "<!-- end -->\n";
const width = 150; // of a line

const faults = { client: "a fault of the client", agent: "a fault of the agent", refused: "refused", bridge: "not yet" };

/** The files that differ from the results of a run and from the expected failures; with write they are updated. */
export function compare(results, expected, write) {
  const files = [[page, withinPage(read(page), tables(results, expected))], [table, `[\n${listed(results).map((one) => JSON.stringify(one)).join(",\n")}\n]\n`]];
  const stale = files.filter(([file, text]) => read(file) !== text);
  if (write) for (const [file, text] of stale) writeFileSync(file, text);
  return stale.map(([file]) => file.pathname.split("/").slice(-3).join("/"));
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The page with its tables replaced; the rest is kept. */
function withinPage(text, made) {
  const [before, rest] = text.split(begin);
  return `${before}${begin}${made}${end}${rest?.split(end)[1] ?? ""}`;
}

/** The table of GET /info: for each client, what works, and the agents and reasons if something does not. */
function listed(results) {
  return Object.entries(clients).map(([client, it]) => {
    const of = results.filter((r) => r.client === client);
    const fails = of.filter((r) => !r.works).map(({ behaviour, agent, known }) => ({ behaviour, agent: kinds[agent], fault: known.fault, why: known.why }));
    const works = Object.keys(behaviours).filter((b) => of.some((r) => r.behaviour === b && r.works));
    return { client, package: it.package, version: it.version, works, fails };
  });
}

function tables(results, expected) {
  const notes = [];
  const names = Object.keys(clients);
  const versions = names.map((name) => `| ${name} | \`${clients[name].package}\` | ${clients[name].version} |`);
  const rows = Object.keys(behaviours).map((b) => `| ${b} | ${names.map((name) => cell(results, expected, name, b, notes)).join(" | ")} |`);
  return [
    "\n| client | package | version |", "|---|---|---|", ...versions,
    "", `| | ${names.join(" | ")} |`, `|---|${names.map(() => "---").join("|")}|`, ...rows,
    "", ...notes.map((note, i) => wrapped(`${i + 1}. ${note}`)), "",
  ].join("\n");
}

/** A list item, wrapped at the width of the documents. */
function wrapped(point) {
  const lines = [];
  for (const word of point.split(" ")) {
    if (lines.length > 0 && lines.at(-1).length + word.length < width) lines.push(`${lines.pop()} ${word}`);
    else lines.push(lines.length > 0 ? `   ${word}` : word);
  }
  return lines.join("\n");
}

/** One cell: works, or the number of a note for each reason why it does not. */
function cell(results, expected, client, behaviour, notes) {
  const of = results.filter((r) => r.client === client && r.behaviour === behaviour);
  if (of.length === 0) return "–";
  const failed = of.filter((r) => !r.works);
  if (failed.length === 0) return "works";
  const reasons = {};
  for (const one of failed) (reasons[`${faults[one.known.fault]}: ${one.known.why}${without(expected, one)}`] ??= []).push(one);
  const numbers = Object.entries(reasons).map(([reason, cells]) => numbered(notes, `With ${cells.map((c) => kinds[c.agent]).join(" and ")}, ${reason}`));
  return `${failed.length < of.length ? "works, but " : ""}${numbers.map((n) => `(${n})`).join(" ")}`;
}

/** What is known of a fault without the bridge: where it is one with a LangGraph server, BROWSER_DIRECT=1 fails unless it is there, too. */
function without(expected, { client, behaviour, known: { fault } }) {
  if (fault !== "client" && fault !== "agent") return "";
  const seen = expected.some((e) => e.agent === "graph" && e.behaviour === behaviour && e.fault === fault && e.clients.includes(client));
  return seen ? " It also occurs with a LangGraph server without the bridge." : " This is from the client's source.";
}

function numbered(notes, note) {
  if (!notes.includes(note)) notes.push(note);
  return notes.indexOf(note) + 1;
}
