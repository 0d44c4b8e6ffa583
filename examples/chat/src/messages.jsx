// What was said, and what the agent did: a tool's result stands in the card of its call.
import { useEffect, useRef } from "react";
import { attached, words } from "./words.js";

export function Messages({ list, working }) {
  const end = useRef(null);
  useEffect(() => void end.current.scrollIntoView({ block: "end" }), [list, working]);
  const results = new Map(list.filter((m) => m.getType() === "tool").map((m) => [m.tool_call_id, words(m.content)]));
  return (
    <section className="messages" role="log" aria-label="Messages" aria-live="polite">
      {list.length === 0 && <p className="hint">Say something. A task/step agent works in steps, and each is shown as it comes.</p>}
      {list.filter((m) => m.getType() !== "tool").map((m, i) => <Message key={m.id ?? i} message={m} results={results} />)}
      {working && <p className="working"><span aria-hidden="true" />at work</p>}
      <div ref={end} />
    </section>
  );
}

function Message({ message, results }) {
  const human = message.getType() === "human";
  const text = words(message.content);
  const files = attached(message.content);
  return (
    <article className={human ? "human" : "agent"} aria-label={human ? "You" : "Agent"}>
      {text !== "" && <p>{text}</p>}
      {files.map((name, i) => <span className="file" key={i}>{name}</span>)}
      {message.tool_calls?.map((call) => <Tool key={call.id} call={call} result={results.get(call.id)} />)}
    </article>
  );
}

function Tool({ call, result }) {
  return (
    <details className="tool">
      <summary>{call.name} <small>{result === undefined ? "asked for" : "done"}</small></summary>
      <Arguments of={call.args} />
      {result !== undefined && <pre>{result}</pre>}
    </details>
  );
}

export function Arguments({ of }) {
  return (
    <dl>
      {Object.entries(of ?? {}).map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd></div>
      ))}
    </dl>
  );
}
