// Helpers for the rows of all clients.
import assert from "node:assert/strict";

/** Collects a stream. */
export async function collect(stream) {
  const list = [];
  for await (const frame of stream) list.push(frame);
  return list;
}

/** The status, code and body of the error that a call must end with. */
export async function failure(promise) {
  let answer;
  try {
    answer = await promise;
  } catch (err) {
    const status = err.status ?? Number(/HTTP (\d+)/.exec(err.message)?.[1]);
    const text = err.text ?? /HTTP \d+: (.*)/s.exec(err.message)?.[1];
    let body = {};
    try {
      body = JSON.parse(text);
    } catch {
      // not ours; the checks report it
    }
    return { status, ...body };
  }
  throw new assert.AssertionError({ message: `it was answered: ${JSON.stringify(answer)}` });
}

/** Checks that a call is refused with this status and code. */
export async function refuses(promise, status, code) {
  const got = await failure(promise);
  assert.deepEqual([got.status, got.code], [status, code], JSON.stringify(got));
  assert.ok(got.message, "an error says why");
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const nobody = "00000000-0000-4000-8000-000000000000";

/** Checks a time within the last minutes. */
export function recent(text) {
  const age = Date.now() - Date.parse(text);
  assert.ok(age > -5000 && age < 600_000, `${text} is not now`);
}

export function isUUID(text) {
  assert.match(text, UUID);
}

/** Checks the state that a run with the input "hello" leaves. */
export function ranWell(values, { last, messages, file }) {
  assert.equal(values.messages.length, messages, JSON.stringify(values.messages));
  assert.deepEqual([values.messages[0].type, values.messages[0].content], ["human", "hello"]);
  assert.equal(values.messages.at(-1).type, "ai");
  assert.match(values.messages.at(-1).content, last);
  assert.equal(new Set(values.messages.map((m) => m.id)).size, messages, "every message has an id of its own");
  if (file) assert.ok(values.files[file], `files: ${Object.keys(values.files ?? {})}`);
}
