// Plain requests, for clients without an SDK.
const JSON_TYPE = { "content-type": "application/json" };

/** One request: {status, headers, body}; body is decoded if it is JSON. */
export async function call(method, url, body, headers = {}) {
  const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(url, { method, headers: { ...(body === undefined ? {} : JSON_TYPE), ...headers }, ...sent });
  const text = await response.text();
  let decoded = text;
  try {
    decoded = JSON.parse(text);
  } catch {
    // keep the text
  }
  return { status: response.status, headers: response.headers, body: decoded, text };
}

/** Reads an event stream to its end: [{event, data, id}]. */
export async function events(method, url, body, headers = {}) {
  const response = await fetch(url, { method, headers: { ...JSON_TYPE, ...headers }, body: body && JSON.stringify(body) });
  const list = frames(await response.text());
  return { status: response.status, headers: response.headers, list };
}

/** The frames of an event stream's text; comments are skipped. */
export function frames(text) {
  const list = [];
  for (const block of text.split(/\n\n/)) {
    const frame = {};
    for (const line of block.split("\n")) {
      const at = line.indexOf(": ");
      if (at > 0) frame[line.slice(0, at)] = line.slice(at + 2);
    }
    if (frame.event) list.push({ ...frame, data: JSON.parse(frame.data) });
  }
  return list;
}

/** Repeats a request until done returns true, for background work. */
export async function until(what, ask, done, patience = 15_000) {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (done(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`${what} did not come; last: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
