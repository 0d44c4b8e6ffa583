// The live conversation of a thread. Forms and history are not updated, so that nothing that a user types is lost. If they
// are outdated, the page says so.
import { element, live, load, shown } from "./live.js";

const page = document.querySelector("[data-thread]");
const news = page?.querySelector("[data-news]");
const known = () => page.querySelectorAll('input[name="question"]');

/** As the pages show a text of several lines. */
const text = (said) => String(said).split(/([\n\t])/).map((part) => (part === "\n" || part === "\t" ? part : shown(part))).join("");

function turn(t, whole) {
  return element("li", { class: `turn${t.failure ? " failure" : ""}` },
    element("p", { class: "who" }, text(t.role), ...(t.name ? [" ", element("bdi", {}, text(t.name))] : []), ...(t.failure ? [" ", element("span", { class: "quiet" }, "the run failed")] : []),
      ...(t.answers ? [" ", element("span", { class: "quiet" }, "result of ", element("code", {}, text(t.answers)))] : [])),
    t.text.text ? element("p", { class: "said", dir: "auto" }, text(t.text.text)) : "",
    ...(t.files ?? []).map((f) => element("p", { class: "quiet" }, "File ", element("bdi", {}, text(f.name ?? "")), ` ${text(f.type ?? "")}`, ...(f.link ? [" at ", element("code", {}, text(f.link))] : []))),
    ...(t.calls ?? []).map((c) => element("div", { class: "call" }, element("p", { class: "quiet" }, "calls ", element("code", {}, text(c.name))),
      element("pre", { tabindex: 0 }, text(c.args.text), c.args.cut ? " …" : ""))),
    element("p", { class: "quiet" }, t.text.cut ? `${t.text.cut} bytes more: ` : "", element("a", { href: whole + t.index }, `whole message ${t.index}`)));
}

function show(t) {
  const at = page.dataset.thread.replace(/events$/, "");
  page.querySelector("[data-turns]").replaceChildren(...t.conversation.turns.map((one) => turn(one, `${at}checkpoints/${encodeURIComponent(t.head)}/messages/`)));
  const status = page.querySelector(".status");
  status.className = `status ${t.status}`;
  status.textContent = t.status;
  const open = new Set(t.questions.map((q) => q.id)), shown = new Set([...known()].map((e) => e.value));
  const closed = [...shown].some((id) => !open.has(id)), asked = [...open].some((id) => !shown.has(id));
  news.replaceChildren(closed ? "A question here was answered. " : asked ? "There is a question. " : "The thread has changed. ", element("a", { href: location.href }, "Reload the page"));
}

if (page) {
  let lost = false;
  live(page.dataset.thread, async () => {
    show(await load());
    lost = false;
  }, (state) => {
    if (state === "gone") news.textContent = "The thread was deleted.";
    if (state === "waiting") news.textContent = "The bridge does not answer; trying again.";
    if (state === "refused") news.textContent = "The bridge does not accept your key; trying again.";
    if (state === "live" && lost) news.textContent = "";
    lost = ["waiting", "refused"].includes(state);
  }, page.dataset.mark);
}
