// The live list of runs. Scrolling loads more of them.
import { ago, element, live, load, pausable, shown } from "./live.js";
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
  return u ? `${u.input_tokens} in, ${u.output_tokens} out` : "–";
}

function row(r) {
  const cell = (attributes, ...children) => element("td", attributes, ...children);
  return element("tr", {},
    element("th", { scope: "row" }, element("a", { href: `${region.dataset.root}inspect/runs/${encodeURIComponent(r.run_id)}` }, element("code", { title: r.run_id }, shown(r.run_id)))),
    cell({ class: `status ${r.status}` }, r.parked ? `${r.status}, parked` : r.status),
    cell({ class: "request", title: r.request ? shown(r.request) : undefined }, element("bdi", {}, shown(r.request))),
    cell({}, element("bdi", {}, shown(r.agent))),
    cell({}, element("a", { href: `${region.dataset.root}inspect/threads/${encodeURIComponent(r.thread_id)}` }, "thread", element("span", { class: "unseen" }, ` ${shown(r.thread_id)}`))),
    cell({ class: "why", title: r.why ? shown(r.why) : undefined }, shown(r.why)),
    cell({}, ago(r.created_at)),
    cell({}, r.took),
    cell({}, tokens(r.usage)),
    cell({}, element("bdi", {}, shown(r.key))));
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
  follow();
}
