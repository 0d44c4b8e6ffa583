import { copying, dollars, element, live, load, pausable, seconds, shown, thousands } from "./live.js";
import { mark, tell as tellStory, tellFiles, tellTiming } from "./story.js";

// The status, the conversation and the waterfall of a run at work are updated on each of its pages. The log grows while
// its last page is shown. Beyond a maximum number of rows, the oldest are removed.
const most = 2000;

const region = document.querySelector("[data-run]");

/** A row and its cells as the page has them: each names its role, which some browsers forget of a table that is laid out as grids. */
const line = (attributes, ...cells) => element("tr", { role: "row", ...attributes }, ...cells);
const cell = (attributes, ...children) => element("td", { role: "cell", ...attributes }, ...children);
const name = (...children) => element("th", { scope: "row", role: "rowheader" }, ...children);

function callRow(run, row, columns) {
  const c = row.call, failed = Boolean(c.error) || c.status >= 400 && !(c.status === 404 && c.method === "GET"); // as the page has it
  return line({ class: failed ? "call failed" : "call", "data-call": c.n },
    cell({}, seconds(row.since_seconds)),
    name(element("a", { href: `${run}/calls/${c.n}` }, `call ${c.n}`)),
    cell({ colspan: columns + 1 }, element("code", {}, `${c.method} ${shown(c.url)}`),
      ` → ${c.status ?? ""}${c.error ? ` ${shown(c.error)}` : ""}, ${seconds(c.seconds)}, ${thousands(c.sent_bytes)} bytes sent, ${thousands(c.received_bytes)} received`));
}

function sight(run, row, s) {
  return element("p", { class: "sight" }, element("a", { href: `${run}/log/${row.seq}` }, shown(s.name)), s.times ? ` ×${s.times}` : null,
    s.note ? " " : null, s.note ? element("small", { class: "quiet" }, shown(s.note)) : null);
}

function eventRow(run, row) {
  const within = [...(row.namespace ?? []), row.node].join("/");
  return line({ class: row.kind, "data-seq": row.seq },
    cell({}, seconds(row.since_seconds)),
    name(element("a", { href: `${run}/log/${row.seq}` }, row.seq), ` ${row.kind}`,
      row.node ? " " : null, row.node ? element("small", {}, element("bdi", {}, shown(within))) : null),
    cell({}, element("bdi", {}, shown(row.says)),
      row.usage ? " " : null,
      row.usage ? element("small", { class: "quiet" }, `${thousands(row.usage.input_tokens)} tokens in, ${thousands(row.usage.output_tokens)} out`) : null,
      ...(row.losses ?? []).flatMap((l) => [" ", element("span", { class: "tag lost" }, shown(l))])),
    ...row.cells.map((sights) => cell({}, ...sights.map((s) => sight(run, row, s)))));
}

/** The tokens and the cost of the run, as the facts below its sentence have them. */
function usageText({ input_tokens: input, output_tokens: output, cost_usd: cost }) {
  return ` · ${thousands(input)} tokens in, ${thousands(output)} out${cost > 0 ? ` · ${dollars(cost)}` : ""}`;
}

function follow() {
  const body = region.querySelector("tbody"), { run, tokens } = region.dataset;
  const status = document.getElementById("status"), why = document.getElementById("why");
  const calls = new Set([...body.querySelectorAll("[data-call]")].map((tr) => tr.dataset.call));
  const grows = region.dataset.next === "0";
  const query = (tokens === "true" ? "&tokens=show" : "") + (grows ? "" : "&limit=1");
  let last = region.dataset.last, ended = false;

  const add = (page) => {
    for (const row of page.rows) {
      if (row.call && calls.has(String(row.call.n))) continue;
      if (row.call) calls.add(String(row.call.n));
      body.append(row.call ? callRow(run, row, page.columns.length) : eventRow(run, row));
    }
    while (body.rows.length > most) body.rows[0].remove();
    last = page.last;
  };
  const show = (page) => {
    const active = ["pending", "running"].includes(page.status);
    ended ||= grows ? page.whole : !active;
    status.textContent = page.status + (page.parked ? ", parked" : "") + (page.continued_by && !page.questions ? ", answered" : "");
    status.className = `status ${page.status}`;
    why.textContent = shown(page.why);
    why.hidden = page.status === "success" || Boolean(document.querySelector("[data-turns]") && (page.error || page.questions?.length || page.closed_questions?.length));
    if (page.story && document.querySelector("[data-turns]")) {
      tellStory(page.story, run);
      tellFiles(page.files ?? []);
      const calls = document.getElementById("calls");
      calls.textContent = page.no_calls ?? "";
      calls.hidden = !page.no_calls;
    }
    tellTiming(page.timing);
    if (page.usage) document.getElementById("usage").textContent = usageText(page.usage);
    if (!active) document.getElementById("cancel")?.remove();
  };
  const watch = pausable((tell) => live(region.dataset.live, async () => {
    // The story is requested once the rows have caught up, since each time the bridge reads the run for it.
    for (let more = true, caughtUp = !grows; more && !watch.paused;) {
      const page = await load(`${run}?after=${last}${query}${caughtUp ? "&story=show" : ""}`);
      if (grows) add(page);
      show(page);
      more = !caughtUp || grows && Boolean(page.next);
      caughtUp = !grows || !page.next;
      if (!ended || !page.story) continue;
      watch.close();
      tell("over");
    }
  }, tell));
}

copying(document.getElementById("top"));
mark();
if (region && (region.dataset.active === "true" || region.dataset.next === "0" && region.dataset.whole !== "true")) follow();
