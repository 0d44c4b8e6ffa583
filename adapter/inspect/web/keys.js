// Keyboard shortcuts. ? lists them. They can be turned off in this browser.
import { element } from "./live.js";

const home = document.querySelector("nav.within a").getAttribute("href").replace(/inspect\/.*$/, "");
const places = { o: ["the overview", "inspect/overview"], r: ["the runs", "inspect"], a: ["the agents", "inspect/agents"] };
const list = [
  ["j", "next run, step or agent"], ["k", "previous one"], ["Enter", "open it"], ["/", "search the runs"],
  ...Object.entries(places).map(([key, [name]]) => [`g ${key}`, `go to ${name}`]),
  ["p", "pause or resume updates"], ["?", "show these keys"], ["Esc", "close this list, leave a field"],
];

const off = "apbridge-keys-off"; // key in localStorage, which may be unavailable
function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem(off) === "yes";
    localStorage.setItem(off, value ? "yes" : "no");
  } catch { /* the choice holds until the page is closed */ }
  return Boolean(value);
}

let silent = stored(), leading = 0; // when g was pressed
const quiet = element("button", { type: "button", class: "silent", "aria-pressed": String(silent) }, "Turn the keys off");
const dialog = element("dialog", { class: "keys", "aria-labelledby": "keys" },
  element("h2", { id: "keys" }, "Keys"),
  element("dl", {}, ...list.map(([key, does]) => element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, does)))),
  element("form", { method: "dialog", class: "plain" }, quiet, " ", element("button", {}, "Close")));
const opener = element("button", { type: "button", class: "opener" }, "Keys");

quiet.addEventListener("click", () => {
  silent = stored(!silent) || !silent;
  quiet.setAttribute("aria-pressed", String(silent));
});
opener.addEventListener("click", () => dialog.showModal());
document.querySelector("nav.within").append(opener);
document.querySelector("main").append(dialog);

/** Focuses the next or previous link of a list. The list of runs has rows that are not in the page and moves itself. */
function step(by) {
  const long = document.querySelector(".virtual");
  if (long && !document.activeElement.closest?.("[data-waiting]")) {
    long.dispatchEvent(new KeyboardEvent("keydown", { key: by > 0 ? "ArrowDown" : "ArrowUp" }));
    return;
  }
  const stops = [...document.querySelectorAll("main :is(.runs tbody th, .lane .name, .card h2, .card h3, .turns, .news, tbody th) a")];
  const here = stops.indexOf(document.activeElement);
  stops[here < 0 ? (by > 0 ? 0 : stops.length - 1) : here + by]?.focus();
}

function search() {
  const field = document.querySelector('input[type="search"]');
  if (field) field.select();
  else location.href = `${home}inspect#search`;
}
if (location.hash === "#search") search();

addEventListener("keydown", (event) => {
  const { key, target } = event;
  const typing = target.closest?.("input, textarea, select, [contenteditable]");
  if (key === "Escape" && typing) target.blur();
  if (silent || typing || dialog.open || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
  const led = Date.now() - leading < 1500;
  leading = key === "g" ? Date.now() : 0;
  const does = {
    j: () => step(1), k: () => step(-1), "/": search, "?": () => dialog.showModal(),
    p: () => document.querySelector("p.live:not([hidden]) button")?.click(),
  }[key] ?? (led && Object.hasOwn(places, key) && (() => { location.href = home + places[key][1]; }));
  if (!does) return;
  event.preventDefault();
  does();
});
