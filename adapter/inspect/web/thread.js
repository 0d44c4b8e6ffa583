// The live parts of a thread's page: its status, conversation, history, runs and files. Forms are not updated, so that nothing
// that a user types is lost. If they are outdated, the page says so. The history and the runs stand still while they have
// the focus, and the history while it has a selection.
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
  for (const part of ["[data-history]", "[data-runs]", "[data-files]"]) {
    const old = page.querySelector(part);
    if (!old.matches(":focus-within") && !old.querySelector(":checked")) take(part);
  }
  for (const name of page.querySelectorAll("details > summary > code")) if (unfolded.has(name.textContent)) name.closest("details").open = true;
  showTimes();
  const closed = [...shown].some((id) => !open.has(id)), asked = [...open].some((id) => !shown.has(id));
  news.replaceChildren(closed ? "A question here was answered. " : asked ? "The agent asks a question. " : "The thread has changed. ", element("a", { href: location.href }, "Reload the page"));
}

if (page) {
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
