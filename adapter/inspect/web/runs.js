// The live list of runs. Scrolling loads more of them.
import { ago, copying, dollars, element, live, load, pausable, shown } from "./live.js";
import { Rows } from "./rows.js";

const region = document.querySelector("[data-live]");
const page = 200; // number of runs requested at once

/** The address of the list from a place on. */
function address(before) {
  const at = new URL(location.href);
  at.searchParams.set("limit", String(page));
  if (before) at.searchParams.set("before", before);
  return at;
}

function tokens(u) {
  const cost = dollars(u?.cost_usd);
  return u ? `${u.input_tokens.toLocaleString("en-US")} in, ${u.output_tokens.toLocaleString("en-US")} out${cost ? `, ${cost}` : ""}` : "–";
}

/** The end of an id, as the page has it: its beginning is a time, which many runs share. */
const short = (id) => (id.length <= 9 ? id : `…${id.slice(-8)}`);

const seen = new Set(); // ids of runs that were listed; others fade in
let first = true;

function row(r) {
  const cell = (attributes, ...children) => element("td", { role: "cell", ...attributes }, ...children);
  const fresh = !first && !seen.has(r.run_id);
  seen.add(r.run_id);
  return element("tr", { role: "row", "data-run": r.run_id, class: fresh ? "fresh" : undefined },
    element("th", { role: "rowheader", scope: "row", class: "request", title: r.request ? shown(r.request) : undefined },
      element("a", { href: `${region.dataset.root}inspect/runs/${encodeURIComponent(r.run_id)}` }, element("bdi", {}, shown(r.request || "Request without text")))),
    cell({ class: "agent", title: shown(r.agent) }, element("bdi", {}, shown(r.agent))),
    cell({ class: "how" }, element("span", { class: `status ${r.answered ? "answered" : r.status}` }, r.answered ? "answered" : r.parked ? `${r.status}, parked` : r.status)),
    cell({ class: "why", title: r.why ? shown(r.why) : undefined }, shown(r.why)),
    cell({ class: "when" }, ago(r.created_at)),
    cell({ class: "number took" }, r.took),
    cell({ class: "number steps" }, r.steps ?? "–"),
    cell({ class: "number tokens" }, tokens(r.usage)),
    "keys" in region.dataset ? cell({ class: "key" }, element("bdi", {}, shown(r.key))) : null,
    cell({ class: "thread" }, element("a", { href: `${region.dataset.root}inspect/threads/${encodeURIComponent(r.thread_id)}` }, "thread", element("span", { class: "unseen" }, ` ${shown(r.thread_id)}`))),
    cell({ class: "id" }, element("code", { title: r.run_id }, shown(short(r.run_id))),
      element("button", { type: "button", class: "copy", "data-copy": r.run_id }, "Copy", element("span", { class: "unseen" }, ` the id ${shown(r.run_id)}`))));
}

const waiting = document.querySelector("[data-waiting]");

/** The open questions, above the list. */
function ask(list) {
  waiting.replaceChildren(...list.map((q) => element("li", {},
    element("a", { class: "answer", href: `${region.dataset.root}inspect/threads/${encodeURIComponent(q.thread_id)}#question-${q.place}` }, "Answer", element("span", { class: "unseen" }, ` ${shown(q.question)}`)), " ",
    element("span", {}, element("strong", {}, element("bdi", {}, shown(q.question))), " ",
      element("span", { class: "quiet" }, "asked by ", element("bdi", {}, shown(q.agent)), " · ", ago(q.since), ...(q.request ? [" · “", element("bdi", {}, shown(q.request)), "”"] : []))))));
  waiting.closest("section").hidden = list.length === 0;
}

/** A list in which what a part of it says anew stands in place of what it said. */
export function merged(list, part, start, whole) {
  const fresh = new Set(part.map((r) => r.run_id));
  const last = list.findLastIndex((r) => fresh.has(r.run_id));
  const kept = whole || last < start ? [] : list.slice(last + 1);
  return [...list.slice(0, start).filter((r) => !fresh.has(r.run_id)), ...part, ...kept];
}

function follow() {
  let list = [], next = "", loading = false;
  const rows = new Rows(region, { make: row, key: (r) => r.run_id, more: () => more() });

  async function part(before, start) {
    const got = await load(address(before));
    if (!before) ask(got.waiting ?? []);
    const old = list.length;
    list = merged(list, got.runs, start, !got.next);
    if (list.at(-1)?.run_id === got.runs.at(-1)?.run_id) next = got.next ?? "";
    rows.set(list, !next);
    return list.length - old;
  }

  async function more() {
    if (loading || !next) return;
    loading = true;
    try {
      await part(next, list.length);
    } catch {
      next = ""; // retried with the next change
    }
    loading = false;
  }

  /** The newest, and those that are looked at. A list that grows at its top stands still before the eye. */
  async function refresh() {
    const held = region.scrollTop > rows.height ? list[rows.from]?.run_id : undefined;
    await part("", 0);
    first = false;
    const at = list.findIndex((r) => r.run_id === held);
    if (at > page) await part(list[at - 1].place, at);
    if (at > rows.from) region.scrollTop += (at - rows.from) * rows.height;
  }

  pausable((tell) => live(region.dataset.live, refresh, tell));
}

if (region?.classList.contains("empty")) {
  live(region.dataset.live, async () => {
    if ((await load()).runs.length > 0) location.reload();
  });
} else if (region) {
  document.querySelector(".pages").hidden = true; // scrolling loads them
  copying(region);
  follow();
}
