// The overview loads again when its numbers have changed, unless somebody is using it.
import { live, pausable } from "./live.js";

const bar = document.querySelector("p.live");
const least = 5000; // ms between two loads
const used = () => document.querySelector("main :focus, dialog[open]") !== null || String(getSelection()) !== "";

const watch = pausable((tell) => live(bar.dataset.live, async () => {
  await new Promise((done) => { setTimeout(done, Math.max(0, least - performance.now())); });
  if (!watch.paused && !used()) location.reload();
}, tell, bar.dataset.mark));
