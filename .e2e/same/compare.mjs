// Compares the answers of two servers to the same calls, member by member. Times may differ, and so may ids; two places with
// the same id at one server must have the same id at the other. Not compared: ids of frames, which are positions in the
// bridge's log; the words of errors, beyond their kind; and headers without a meaning for the SDK (kept in caller.mjs).
import { agreed, faults } from "./agreed.mjs";

const id = /(?:run-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:-out-\d+)?|\b[0-9a-f]{32}\b|127\.0\.0\.1:\d+/g;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)$/;
const bare = (text) => text.replaceAll(id, "{}");

/** The unknown differences between the recorded calls of a server and of the bridge: [{at, server, bridge}]. */
export function differences(server, bridge, scenario) {
  const comparison = new Comparison(scenario);
  comparison.calls(server, bridge);
  return comparison.found;
}

class Comparison {
  found = [];
  theirs = new Map();
  ours = new Map();

  constructor(scenario) {
    this.scenario = scenario;
  }

  calls(server, bridge) {
    const names = (list) => list.map((one) => one.name);
    if (names(server).join() !== names(bridge).join()) return this.differ("calls", names(server), names(bridge));
    server.forEach((one, i) => this.answer(one, bridge[i]));
  }

  answer(server, bridge) {
    const { name } = server;
    const failed = [server, bridge].map((one) => one.status >= 400);
    this.at(`${name} status`, server.status, bridge.status);
    if (failed[0] !== failed[1]) return;
    if (failed[0]) {
      if (!bridge.body.code || !bridge.body.message) this.differ(`${name} error without words`, server.body, bridge.body);
      return this.at(`${name} error`, kindOf(server.body), kindOf(bridge.body));
    }
    this.at(`${name} headers`, server.headers, bridge.headers);
    if (server.frames && bridge.frames) return this.frames(name, server.frames, bridge.frames);
    this.at(`${name} body`, server.frames ?? server.body, bridge.frames ?? bridge.body);
  }

  /** Frames of one mode must be in order; frames of different modes may be reordered. */
  frames(name, server, bridge) {
    const want = comparable(server);
    const completed = want.some((frame) => frame.event === "messages/complete");
    const got = comparable(bridge).filter((frame) => completed || frame.event !== "messages/complete");
    const names = (list) => list.map((frame) => bare(frame.event)).join(" ");
    const modes = new Set(want.map((frame) => frame.event.split(/[/|]/)[0]).filter((mode) => mode !== "metadata" && mode !== "error"));
    if (modes.size < 2 && names(want) !== names(got)) return this.differ(`${name} frames`, names(want), names(got));
    this.at(`${name} frames have ids`, want.every((frame) => frame.id), got.every((frame) => frame.id));
    for (const event of new Set([...want, ...got].map((frame) => bare(frame.event)))) {
      const [theirs, ours] = [want, got].map((list) => list.filter((frame) => bare(frame.event) === event));
      if (theirs.length !== ours.length) this.differ(`${name} frames ${event}`, theirs.length, ours.length);
      else theirs.forEach((frame, i) => this.at(`${name} frame ${event}`, frame.data, ours[i].data));
    }
  }

  at(place, server, bridge) {
    if (typeof server === "string" && typeof bridge === "string") return this.text(place, server, bridge);
    if (server === null || bridge === null || typeof server !== "object" || typeof bridge !== "object") {
      if (server !== bridge) this.differ(place, server, bridge);
      return;
    }
    if (Array.isArray(server) !== Array.isArray(bridge)) return this.differ(place, server, bridge);
    if (Array.isArray(server)) {
      if (server.length !== bridge.length) return this.differ(`${place}.length`, server, bridge);
      return server.forEach((value, i) => this.at(`${place}[]`, value, bridge[i]));
    }
    const [theirs, ours] = [byName(server), byName(bridge)];
    for (const name of [...new Set([...theirs.keys(), ...ours.keys()])].sort()) {
      const [want, got] = [theirs, ours].map((by) => by.get(name) ?? []);
      if (want.length > 0 && got.length > 0) this.text(`${place}, a name`, want[0], got[0]);
      this.at(`${place}.${name}`, want[1], got[1]);
    }
  }

  text(place, server, bridge) {
    if (time.test(server) && time.test(bridge)) return;
    const objects = [server, bridge].map(objectIn);
    if (objects[0] && objects[1]) return this.at(place, ...objects);
    if (bare(server) !== bare(bridge)) return this.differ(place, server, bridge);
    const theirs = server.match(id) ?? [];
    (bridge.match(id) ?? []).forEach((ours, i) => {
      if (this.theirs.has(theirs[i]) ? this.theirs.get(theirs[i]) !== ours : this.ours.has(ours)) this.differ(`${place}, another id`, server, bridge);
      this.theirs.set(theirs[i], ours);
      this.ours.set(ours, theirs[i]);
    });
  }

  differ(at, server, bridge) {
    const known = [...agreed, ...faults].find((one) => (one.in?.test(this.scenario) ?? true) && one.at.test(at) && (!one.of || one.of(server, bridge)));
    if (known) (known.seen ??= new Set()).add(this.scenario);
    else this.found.push({ at, server, bridge });
  }
}

/**
 * The frames that a server and the bridge have in common. The bridge makes those of mode messages from those of
 * messages-tuple, so it also announces a message that a node returned whole, and it completes messages of graphs that are
 * streamed with their subgraphs. The server sends checkpoints in a short form next to the other modes of such graphs, even
 * if nobody asked for them.
 */
function comparable(frames) {
  const whole = new Set(frames.filter((f) => f.event === "messages/partial" && !f.data[0].tool_call_chunks).map((f) => f.data[0].id));
  return frames.filter((f) => {
    if (f.event.startsWith("checkpoints")) return f.data.values !== undefined;
    if (f.event === "messages/metadata") return !whole.has(Object.keys(f.data)[0]);
    return f.event !== "messages/partial" || !whole.has(f.data[0].id);
  });
}

/** The members of an object as [name, value], by their names without ids. Names that are ids are numbered in their order. */
function byName(object) {
  const by = new Map();
  for (const [name, value] of Object.entries(object)) {
    let key = bare(name);
    while (by.has(key)) key += "'";
    by.set(key, [name, value]);
  }
  return by;
}

/** The object in a JSON text, or null. */
function objectIn(text) {
  try {
    return text.startsWith("{") ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** The kind of an error, since the bridge and the server use different messages. */
function kindOf(body) {
  const text = JSON.stringify(body).toLowerCase();
  const kinds = { absent: /not found|no assistant|does not exist|there is no|has no version/, exists: /exists/, busy: /busy|already running|in flight/ };
  return Object.keys(kinds).find((kind) => kinds[kind].test(text)) ?? "other";
}
