import { element, live, load, pausable, shown } from "./live.js";

// The axis of a run grows while its last page is looked at. Beyond so many lines the oldest make room.
const most = 2000;

const region = document.querySelector("[data-run]");

function seconds(s) {
  if (s < 0.001) return `${(s * 1000).toFixed(2)} ms`;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  return s < 60 ? `${s.toFixed(2)} s` : `${Math.floor(s / 60)}m${Math.round(s % 60)}s`;
}

function callRow(run, row, columns) {
  const c = row.call, failed = Boolean(c.error) || c.status >= 400;
  return element("tr", { class: failed ? "call failed" : "call", "data-call": c.n },
    element("td", {}, seconds(row.since_seconds)),
    element("th", { scope: "row" }, element("a", { href: `${run}/calls/${c.n}` }, `call ${c.n}`)),
    element("td", { colspan: columns + 1 }, element("code", {}, `${c.method} ${shown(c.url)}`),
      ` → ${c.status ?? ""}${c.error ? ` ${shown(c.error)}` : ""}, ${seconds(c.seconds)}, ${c.sent_bytes} bytes sent, ${c.received_bytes} received`));
}

function sight(run, row, s) {
  return element("p", { class: "sight" }, element("a", { href: `${run}/log/${row.seq}` }, shown(s.name)),
    s.note ? " " : null, s.note ? element("small", { class: "quiet" }, shown(s.note)) : null);
}

function eventRow(run, row) {
  const within = [...(row.namespace ?? []), row.node].join("/");
  return element("tr", { class: row.kind, "data-seq": row.seq },
    element("td", {}, seconds(row.since_seconds)),
    element("th", { scope: "row" }, element("a", { href: `${run}/log/${row.seq}` }, row.seq), ` ${row.kind}`,
      row.node ? " " : null, row.node ? element("small", {}, element("bdi", {}, shown(within))) : null),
    element("td", {}, element("bdi", {}, shown(row.says)),
      row.usage ? element("small", { class: "quiet" }, ` ${row.usage.input_tokens} tokens in, ${row.usage.output_tokens} out`) : null,
      ...(row.losses ?? []).map((l) => element("span", { class: "tag lost" }, shown(l)))),
    ...row.cells.map((cell) => element("td", {}, ...cell.map((s) => sight(run, row, s)))));
}

function follow() {
  const body = region.querySelector("tbody"), { run, tokens } = region.dataset;
  const status = document.getElementById("status"), why = document.getElementById("why");
  const calls = new Set([...body.querySelectorAll("[data-call]")].map((tr) => tr.dataset.call));
  let last = region.dataset.last;

  const add = (page) => {
    for (const row of page.rows) {
      if (row.call && calls.has(String(row.call.n))) continue;
      if (row.call) calls.add(String(row.call.n));
      body.append(row.call ? callRow(run, row, page.columns.length) : eventRow(run, row));
    }
    while (body.rows.length > most) body.rows[0].remove();
    last = page.last;
    status.textContent = page.status + (page.parked ? ", parked" : "");
    status.className = `status ${page.status}`;
    why.textContent = shown(page.why);
    if (!["pending", "running"].includes(page.status)) document.getElementById("cancel")?.remove();
  };
  const watch = pausable((tell) => live(region.dataset.live, async () => {
    for (let more = true; more && !watch.paused;) {
      const page = await load(`${run}?after=${last}${tokens === "true" ? "&tokens=show" : ""}`);
      add(page);
      more = Boolean(page.next);
      if (!page.whole) continue;
      watch.close();
      tell("over");
    }
  }, tell));
}

if (region && region.dataset.next === "0" && region.dataset.whole !== "true") follow();
