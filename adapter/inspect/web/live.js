// What every live page does: it hears by an EventSource that something changed, and asks for its JSON again. While it is
// paused it hears and does not ask. Nothing here, or in any other module, makes markup of a text.

/** The JSON of the address that is shown, or of another one with the same form. */
export async function load(address = location.href) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message ?? `status ${answer.status}`);
  return body;
}

/**
 * Calls update each time something changed, one call at a time, and once more after a pause in which something did.
 * tell gets "live", "paused", "waiting" (the connection is lost and tried again) or "gone".
 */
export function live(address, update, tell = () => {}) {
  const source = new EventSource(address);
  let paused = false, due = false, busy = false;
  const run = async () => {
    if (paused || busy) return;
    busy = true;
    while (due && !paused) {
      due = false;
      try {
        await update();
      } catch {
        tell("waiting");
      }
    }
    busy = false;
  };
  source.addEventListener("changed", () => { due = true; run(); });
  source.addEventListener("open", () => tell(paused ? "paused" : "live"));
  source.addEventListener("error", () => tell("waiting"));
  source.addEventListener("gone", () => { source.close(); tell("gone"); });
  return {
    get paused() { return paused; },
    pause() { paused = true; tell("paused"); },
    resume() { paused = false; tell("live"); run(); },
    close() { source.close(); },
  };
}

/** An element with attributes and children; texts stay texts. */
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
  e.append(...children.filter((c) => c !== undefined && c !== null).map((c) => (c instanceof Node ? c : String(c))));
  return e;
}

/** As the bridge's pages show a text from outside: nothing invisible is in it (page.Shown). */
export function shown(text) {
  return String(text ?? "").replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** A time as the pages write it. */
export function clock(at) {
  const t = new Date(at);
  const two = (n) => String(n).padStart(2, "0");
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][t.getUTCMonth()];
  return `${t.getUTCDate()} ${month}, ${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())} UTC`;
}

/** The button that pauses a page, and what it says of itself. The watch is what live returns; follow makes it. */
export function pausable(follow) {
  const bar = document.querySelector("p.live");
  const button = bar.querySelector("button"), status = bar.querySelector("[role=status]");
  const words = { live: "Live.", paused: "Paused: the page stands still.", waiting: "The bridge does not answer; trying again.", gone: "This is not there any more.", over: "It has ended." };
  const watch = follow((state) => { status.textContent = words[state]; });
  button.addEventListener("click", () => {
    if (watch.paused) watch.resume();
    else watch.pause();
    button.setAttribute("aria-pressed", String(watch.paused));
    button.textContent = watch.paused ? "Go on with updates" : "Pause updates";
  });
  bar.hidden = false;
  return watch;
}
