import { clock, element, live, load, shown } from "./live.js";

const region = document.querySelector("[data-live]");
const root = region?.dataset.root ?? "";

function row(r) {
  return element("tr", {},
    element("th", { scope: "row" }, element("a", { href: `${root}inspect/runs/${encodeURIComponent(r.run_id)}` }, element("code", {}, r.run_id))),
    element("td", {}, element("bdi", {}, shown(r.agent))),
    element("td", { class: `status ${r.status}` }, r.status),
    element("td", {}, element("time", { datetime: r.created_at }, clock(r.created_at))));
}

if (region) {
  live(region.dataset.live, async () => {
    const list = await load();
    region.querySelector("tbody").replaceChildren(...list.runs.map(row));
  });
}
