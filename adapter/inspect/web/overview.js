// Updates the numbers of the overview when they change, unless the focus is inside them. It loads the page again as a
// document and takes the numbers from there.
import { live, loadPage, pausable, showTimes } from "./live.js";

const bar = document.querySelector("p.live");
const least = 2000; // ms between two updates
let last = 0;

const watch = pausable((tell) => live(bar.dataset.live, async () => {
  await new Promise((done) => { setTimeout(done, Math.max(0, last + least - performance.now())); });
  const page = await loadPage(), shown = document.querySelector("[data-numbers]");
  last = performance.now();
  if (watch.paused || shown.matches(":focus-within")) return;
  shown.replaceWith(document.adoptNode(page.querySelector("[data-numbers]")));
  showTimes();
}, tell, bar.dataset.mark));
