// The conversation and the waterfall of a run, as its page has them.
import { element, seconds, shown, thousands } from "./live.js";

const text = (said) => String(said).split(/([\n\t])/).map((part) => (part === "\n" || part === "\t" ? part : shown(part))).join("");

const counted = (n, noun) => `${thousands(n)} ${noun}${n === 1 ? "" : "s"}`;

/** A kept file, as in turn.html. */
const file = (f, thread) => element("details", { "data-version": f.version }, element("summary", {}, element("code", {}, shown(f.path)), " ", element("span", { class: "quiet" }, counted(f.size, "byte"))),
  f.preview ? element("iframe", { class: "preview", sandbox: true, title: `Preview of ${shown(f.path)}`, loading: "lazy", src: `${thread}/files/${f.version}/preview` }) : null,
  element("p", {}, element("a", { href: `${thread}/files/${f.version}` }, "Download")));

/** Shows the files that the run has written until now, unless nothing changed. */
export function tellFiles(files) {
  const box = document.querySelector("[data-files]");
  if (files.map((f) => f.version).join() === [...box.querySelectorAll("details")].map((d) => d.dataset.version).join()) return;
  box.hidden = files.length === 0;
  box.replaceChildren(box.firstElementChild, ...files.map((f) => file(f, document.querySelector("[data-turns]").dataset.thread)));
}

/** The same as turn.html. */
function turn(t, thread, run) {
  const said = t.text.text && element("p", { class: "said", dir: "auto" }, text(t.text.text)), calls = t.calls ?? [];
  return element("li", { class: `turn ${t.role}${t.failure ? " failure" : ""}${t.failed ? " failed" : ""}${t.asks ? " asks" : ""}` },
    element("p", { class: "who" }, shown(t.role), ...(t.name ? [" · ", element("bdi", {}, shown(t.name))] : []),
      ...(t.asks ? [" · asks a question"] : []), ...(t.failed ? [" · failed"] : []), ...(t.failure ? [" · the run failed"] : [])),
    ...(said ? [t.answers ? element("details", {}, element("summary", {}, "result of ", element("code", {}, shown(t.tool ?? t.answers))), said) : said] : []),
    ...(t.files ?? []).map((f) => f.file ? file(f.file, thread) : element("p", { class: "quiet" }, "File ", element("bdi", {}, shown(f.name)), ` ${shown(f.type)}`, ...(f.link ? [" at ", element("code", {}, shown(f.link))] : []))),
    ...calls.map((c) => element("details", {}, element("summary", {}, "calls ", element("code", {}, shown(c.name))), element("pre", { tabindex: 0 }, text(c.args.text), c.args.cut ? " …" : ""))),
    ...(t.text.cut || calls.some((c) => c.args.cut) ? [element("p", { class: "quiet" }, element("a", { href: thread }, "Whole message", element("span", { class: "unseen" }, ` ${t.index}`)), t.text.cut ? `, ${counted(t.text.cut, "byte")} more` : null)] : []),
    ...(t.run_id ? [element("p", { class: "quiet" }, element("a", { href: run.replace(/[^/]+$/, t.run_id) }, t.asks ? "The run that asked" : "The run that continued"))] : []),
    ...(t.question ? [element("p", {}, element("a", { class: "answer", href: run }, "Show the form to answer"))] : []),
    ...(t.failure ? [element("p", {}, element("a", { href: run }, "Show the agent’s response"))] : []));
}

const least = 0.7; // percent, which can be seen
const share = (part, of) => (of > 0 ? Math.floor((10_000 * part) / of) / 100 : 0);

function svg(name, attributes, ...children) {
  const e = document.createElementNS("http:" + "//www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/** The mark of a bar's tokens. Its area grows with their number. */
function dot(b, total, most, length) {
  if (!b.usage) return [];
  const { input_tokens: input, output_tokens: output } = b.usage;
  return [svg("circle", { cx: `${share(b.begin_seconds + length, total)}%`, cy: "7", r: String(Math.round(200 + 300 * Math.sqrt((input + output) / Math.max(1, most))) / 100) },
    svg("title", {}, `${thousands(input)} tokens in, ${thousands(output)} out`))];
}

function lane(b, total, run, most) {
  const at = b.seq ? `${run}/log/${b.seq}` : b.call ? `${run}/calls/${b.call}` : undefined, length = Math.max(0, b.end_seconds - b.begin_seconds);
  return element("li", { class: `lane ${b.kind}${b.failed ? " failed" : ""}`, "data-of": b.seq, "data-by": b.call, "data-made": b.turns?.join(" ") },
    element("span", { class: "name" }, at ? element("a", { href: at }, shown(b.name)) : shown(b.name),
      ...(b.usage ? [" ", element("small", { class: "quiet" }, `${thousands(b.usage.input_tokens)} in, ${thousands(b.usage.output_tokens)} out`)] : [])),
    svg("svg", { width: "100%", height: "14", "aria-hidden": "true", focusable: "false" },
      svg("rect", { x: `${Math.min(share(b.begin_seconds, total), 100 - least)}%`, y: "2", height: "10", rx: "2", width: `${Math.max(share(length, total), least)}%` }), ...dot(b, total, most, length)),
    element("span", { class: "length" }, ...(b.failed ? [element("span", { class: "unseen" }, "failed ")] : []), seconds(length)));
}

/** Shows what the run has said and done until now. What a person has unfolded stays so where nothing was added. */
export function tell(story, run) {
  const turns = document.querySelector("[data-turns]"), bars = document.querySelector("[data-bars]");
  document.getElementById("summary").textContent = shown(story.summary);
  const made = story.turns.map((t) => turn(t, turns.dataset.thread, run));
  const same = (n) => turns.children[n]?.textContent === made[n]?.textContent;
  let kept = 0;
  while (kept < made.length && same(kept)) kept++;
  while (turns.children.length > kept) turns.lastElementChild.remove();
  turns.append(...made.slice(kept));
  const most = Math.max(...story.bars.map((b) => (b.usage ? b.usage.input_tokens + b.usage.output_tokens : 0)));
  const held = bars.contains(document.activeElement) && document.activeElement.getAttribute("href");
  bars.replaceChildren(...story.bars.map((b) => lane(b, story.seconds, run, most)));
  if (held) bars.querySelector(`a[href="${held}"]`)?.focus({ preventScroll: true });
  for (const of of document.querySelectorAll("[data-colour]")) of.hidden = !story.bars.some((b) => (b.failed ? "failed" : b.kind) === of.dataset.colour);
  document.querySelector("[data-dots]").hidden = !(most > 0);
  document.querySelector(".axisends").lastElementChild.textContent = seconds(story.seconds);
  for (const [part, n = 0, noun, where] of [["earlier", story.earlier, "message", "on the page of the thread"], ["more", story.more_bars, "bar", "in the log"]]) {
    const p = document.querySelector(`[data-${part}]`);
    p.hidden = n === 0;
    p.firstElementChild.textContent = `${counted(n, `earlier ${noun}`)} ${where}`;
  }
  const rest = document.querySelector("[data-rest]");
  rest.hidden = story.whole;
  rest.firstElementChild.href = `${run}?after=${story.last}#axis`;
}

/** Shows how the time of the run is split up until now. */
export function tellTiming({ seconds: total, waiting_seconds: waiting, agent_seconds: agent, bridge_seconds: bridge, agent_known: known }) {
  const figure = document.querySelector(".timing");
  const part = (name, length) => {
    const of = figure.querySelector(`[data-part="${name}"]`);
    of.lastElementChild.textContent = seconds(length);
    return of;
  };
  part("waiting", waiting).hidden = !(waiting > 0);
  part("agent", agent).hidden = !known;
  part("bridge", bridge).children[1].hidden = known;
  part("total", total);
  for (const [name, begin, length] of [["waiting", 0, waiting], ["agent", waiting, agent], ["bridge", waiting + agent, bridge]]) {
    const rect = figure.querySelector(`rect.${name}`);
    rect.setAttribute("x", `${share(begin, total)}%`);
    rect.setAttribute("width", `${share(length, total)}%`);
  }
  figure.querySelector("svg").setAttribute("aria-label", `Waiting ${seconds(waiting)}, agent ${seconds(agent)}, bridge ${seconds(bridge)}`);
}

/** Marks what belongs to the bar below the pointer or the focus: the turns that came from it, and its rows of the axis. */
export function mark() {
  const bars = document.querySelector("[data-bars]"), turns = document.querySelector("[data-turns]");
  const show = (lane) => {
    const { of, by, made } = lane?.dataset ?? {};
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    const found = [of && document.querySelector(`tr[data-seq="${of}"]`), by && document.querySelector(`tr[data-call="${by}"]`), ...(made?.split(" ") ?? []).map((n) => turns.children[n])];
    for (const one of found) if (one) one.classList.add("lit");
  };
  for (const name of ["pointerover", "focusin"]) bars?.addEventListener(name, ({ target }) => show(target.closest("li.lane")));
  for (const name of ["pointerleave", "focusout"]) bars?.addEventListener(name, () => show());
}
