// Updates the numbers of the overview when they change, unless the focus is inside them. It loads the page as a document
// and takes attributes and texts from there. If a part was added, such as the first run of an agent, the page is reloaded.
import { live, loadPage, pausable, showTimes } from "./live.js";

const bar = document.querySelector("p.live"), numbers = document.querySelector("[data-numbers]");
const least = 2000; // ms between two updates
let last = 0;

/** Gives elements the attributes and texts of those in a document. Returns false if the elements differ. */
function update(from) {
  const old = [...numbers.querySelectorAll("*")], now = [...from.querySelectorAll("*")];
  if (old.length !== now.length || old.some((e, i) => e.localName !== now[i].localName)) return false;
  for (const [i, e] of old.entries()) {
    for (const name of e.getAttributeNames()) if (!now[i].hasAttribute(name)) e.removeAttribute(name);
    for (const { name, value } of now[i].attributes) if (e.getAttribute(name) !== value) e.setAttribute(name, value);
    if (e.childElementCount === 0 && e.textContent !== now[i].textContent) e.textContent = now[i].textContent;
  }
  return true;
}

const watch = pausable((tell) => live(bar.dataset.live, async () => {
  await new Promise((done) => { setTimeout(done, Math.max(0, last + least - performance.now())); });
  const page = await loadPage();
  last = performance.now();
  if (watch.paused || numbers.matches(":focus-within")) return;
  if (update(page.querySelector("[data-numbers]"))) showTimes();
  else location.reload();
}, tell, bar.dataset.mark));
