// Updates the numbers of the overview when they change, unless the focus is inside them. It loads the page again as a
// document and takes the numbers from there.
import { live, pausable, showTimes } from "./live.js";

const bar = document.querySelector("p.live");
const least = 2000; // ms between two updates
let last = 0;

/** Loads the current page. */
const load = () => new Promise((done, failed) => {
  const asked = new XMLHttpRequest();
  asked.responseType = "document";
  asked.open("GET", location.href);
  asked.setRequestHeader("Accept", "text/html");
  asked.addEventListener("load", () => {
    if (asked.status === 200) done(asked.response);
    else failed(Object.assign(new Error(`status ${asked.status}`), { status: asked.status }));
  });
  asked.addEventListener("error", () => failed(new Error("no response")));
  asked.send();
});

const watch = pausable((tell) => live(bar.dataset.live, async () => {
  await new Promise((done) => { setTimeout(done, Math.max(0, last + least - performance.now())); });
  const page = await load(), shown = document.querySelector("[data-numbers]");
  last = performance.now();
  if (watch.paused || shown.matches(":focus-within")) return;
  shown.replaceWith(document.adoptNode(page.querySelector("[data-numbers]")));
  showTimes();
}, tell, bar.dataset.mark));
