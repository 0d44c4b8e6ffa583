// The live parts of a thread's page: its status, conversation, history, runs and files. Forms are not updated, so that
// nothing that a user types is lost. If they are outdated, the page says so. A part stands still while it has the focus, a
// selection or something unfolded. A link to a question focuses the first field of its form.
import { copying, element, live, loadPage, showTimes } from "./live.js";

const page = document.querySelector("[data-thread]");
const news = page?.querySelector("[data-news]");
const questions = (within) => new Set([...within.querySelectorAll('input[name="question"]')].map((e) => e.value));

function show(now) {
  const take = (selector) => page.querySelector(selector).replaceWith(document.adoptNode(now.querySelector(selector)));
  const open = questions(now), shown = questions(page);
  const unfolded = new Set([...page.querySelectorAll("details[open] > summary > code")].map((name) => name.textContent));
  take("[data-turns]");
  take("[data-status]");
  let held = false;
  for (const part of ["[data-history]", "[data-runs]", "[data-rest]"]) {
    const old = page.querySelector(part);
    if (old.matches(":focus-within") || old.querySelector(":checked, details[open]")) held = true;
    else take(part);
  }
  for (const name of page.querySelectorAll("details > summary > code")) if (unfolded.has(name.textContent)) name.closest("details").open = true;
  showTimes();
  const closed = [...shown].some((id) => !open.has(id)), asked = [...open].some((id) => !shown.has(id));
  const change = closed ? "A question here was answered. " : asked ? "The agent asks a question. " : held ? "The thread has changed. " : "";
  news.replaceChildren(...(change ? [change, element("a", { href: location.href }, "Reload the page")] : ["This page was updated."]));
}

/** Focuses the first field of the question that the address names. The browser has removed the focus for its title before. */
function focusQuestion() {
  const title = /^#question-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
  const field = title && title.closest("section").querySelector("form :is(textarea, select, input:not([type=hidden]))");
  if (field) field.focus({ preventScroll: true });
}

if (page) {
  const soon = () => requestAnimationFrame(() => requestAnimationFrame(focusQuestion));
  soon();
  addEventListener("hashchange", soon);
  let lost = false;
  copying(page);
  live(page.dataset.thread, async () => {
    show(await loadPage());
    lost = false;
  }, (state) => {
    if (state === "gone") news.textContent = "The thread was deleted.";
    if (state === "waiting") news.textContent = "The bridge does not answer; trying again.";
    if (state === "refused") news.textContent = "The bridge does not accept your key; trying again.";
    if (state === "live" && lost) news.textContent = "";
    lost = ["waiting", "refused"].includes(state);
  }, page.dataset.mark);
}
