// The code of every live page. An EventSource reports that something has changed, and the page requests its JSON again.
// While it is paused it makes no requests. No module turns text into markup.

/** The JSON of the address that is shown, or of another one with the same form. The error has the status of a refusal. */
export async function load(address = location.href) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(body.message ?? `status ${answer.status}`), { status: answer.status });
  return body;
}

/** The page at the address that is shown, as a document. The error has the status of a refusal. */
export const loadPage = () => new Promise((done, failed) => {
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

const patience = { first: 1000, most: 30_000, asleep: 20_000 }; // ms

/**
 * Calls update each time something changed, one call at a time, and once more after a pause in which something did.
 * tell gets "live", "paused", "waiting" (the connection is lost and tried again), "refused" (the key is not taken; it is
 * tried again) or "gone". A browser gives an EventSource up for good when a bridge that starts again, or a proxy before
 * it, answers with an error, and does not notice that its machine slept: then a new one is made, which hears of what it
 * missed. A page that is out of sight listens to nothing: a browser has six connections for all tabs of a bridge, and each
 * stream holds one. heard is the mark of what the page shows already, if it says that: the newest change that was told.
 */
export function live(address, update, tell = () => {}, heard) {
  let source, timer, wait = patience.first, paused = false, due = false, busy = false, closed = false;
  const say = (state) => { if (!closed) tell(paused && state !== "gone" ? "paused" : state); };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(listen, wait);
    wait = Math.min(2 * wait, patience.most);
  };
  const close = () => {
    closed = true;
    source?.close();
    clearTimeout(timer);
    clearInterval(pulse);
    removeEventListener("online", listen);
    document.removeEventListener("visibilitychange", seen);
  };
  const failed = (error) => {
    if (error.status === 404) {
      say("gone");
      close();
      return;
    }
    say([401, 403].includes(error.status) ? "refused" : "waiting");
    if (!closed) later();
  };
  const run = async () => {
    if (paused || busy) return;
    busy = true;
    try {
      while (due && !paused && !closed) {
        due = false;
        await update();
        wait = patience.first;
        say("live");
      }
    } catch (error) {
      due = true;
      failed(error);
    }
    busy = false;
  };
  function listen() {
    if (closed || document.hidden) return;
    clearTimeout(timer);
    source?.close();
    const mine = source = new EventSource(address);
    mine.addEventListener("changed", ({ lastEventId }) => {
      if (lastEventId !== heard) due = true;
      heard = lastEventId;
      if (due) run();
    });
    mine.addEventListener("open", () => { if (!due) say("live"); });
    mine.addEventListener("gone", () => { say("gone"); close(); });
    mine.addEventListener("error", async () => {
      if (mine !== source) return;
      say("waiting");
      if (mine.readyState !== EventSource.CLOSED) return; // the browser reconnects by itself
      try {
        await load();
        later();
      } catch (error) {
        failed(error);
      }
    });
  }
  function seen() {
    clearTimeout(timer);
    source?.close();
    listen();
  }
  let beat = Date.now();
  const pulse = setInterval(() => {
    const slept = Date.now() - beat > patience.asleep;
    beat = Date.now();
    if (slept && !document.hidden) listen(); // browsers slow down the timers of hidden pages
  }, patience.asleep / 4);
  addEventListener("online", listen);
  document.addEventListener("visibilitychange", seen);
  listen();
  return {
    get paused() { return paused; },
    pause() { say("paused"); paused = true; },
    resume() { paused = false; say("live"); run(); },
    close,
  };
}

/** An element with attributes and children; texts stay texts. */
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
  e.append(...children.filter((c) => c !== undefined && c !== null).map((c) => (c instanceof Node ? c : String(c))));
  return e;
}

/** As the bridge's pages show a text from outside: without control characters and invisible ones (page.Shown). */
export function shown(text) {
  return String(text ?? "").replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\u200c\u200d]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** A time as the pages write it. */
export function clock(at) {
  const t = new Date(at);
  const two = (n) => String(n).padStart(2, "0");
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][t.getUTCMonth()];
  return `${t.getUTCDate()} ${month}, ${two(t.getUTCHours())}:${two(t.getUTCMinutes())}:${two(t.getUTCSeconds())} UTC`;
}

/** How long ago a time was, in words. */
function since(at) {
  const s = Math.max(0, Math.floor((Date.now() - new Date(at)) / 1000));
  if (s < 5) return "just now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h ago` : `${Math.floor(s / 86_400)} days ago`;
}

/** A time as a page with scripts shows it: how long ago it was, and exactly where the pointer rests. */
export function ago(at) {
  return element("time", { datetime: at.replace(/\.\d+/, ""), title: clock(at) }, since(at));
}

/** Shows the times of the page so, and goes on with it. */
export function showTimes() {
  for (const t of document.querySelectorAll("time[datetime]")) {
    if (!t.title) t.title = t.textContent;
    const text = since(t.dateTime);
    if (t.textContent !== text) t.textContent = text;
  }
}
showTimes();
setInterval(showTimes, 10_000);

/** Buttons below an element copy their ids, or the address of the page, with their queries if they have some. */
export function copying(within) {
  within.classList.add("copies");
  within.addEventListener("click", async ({ target }) => {
    const button = target.closest("button.copy");
    if (!button) return;
    const text = button.dataset.copy || location.origin + location.pathname + (button.dataset.link ?? "");
    const name = button.dataset.name ??= button.firstChild.data;
    let told = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      told = text; // to be marked by hand
    }
    button.firstChild.data = told;
    setTimeout(() => { button.firstChild.data = name; }, told === "Copied" ? 1500 : 10_000);
  });
}

/** A length of time as the pages write it. */
export function seconds(s) {
  const ms = Math.round(s * 1000), tenths = Math.round(s * 10), whole = Math.round(s), minutes = Math.round(s / 60);
  if (s < 1e-9) return "0 ms";
  if (s < 0.001) return "under 1 ms";
  if (ms < 1000) return `${ms} ms`;
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A number as the pages write it. */
export const thousands = (n) => n.toLocaleString("en-US");

/** A cost as the pages write it; "" for none. */
export function dollars(cost) {
  if (!(cost > 0)) return "";
  return cost < 0.0001 ? "under $0.0001" : `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

/** The button that pauses a page, and what it says of itself. The watch is what live returns; follow makes it. */
export function pausable(follow) {
  const bar = document.querySelector("p.live");
  const button = bar.querySelector("button"), status = bar.querySelector("[role=status]");
  const words = { live: "Live.", paused: "Paused.", waiting: "The bridge does not answer; trying again.", refused: "The bridge does not accept your key; trying again.", gone: "This no longer exists.", over: "It has ended." };
  const watch = follow((state) => {
    status.textContent = words[state];
    button.hidden = state === "gone" || state === "over";
  });
  button.addEventListener("click", () => {
    if (watch.paused) watch.resume();
    else watch.pause();
    button.setAttribute("aria-pressed", String(watch.paused));
    button.textContent = watch.paused ? "Resume updates" : "Pause updates";
  });
  bar.hidden = false;
  return watch;
}
