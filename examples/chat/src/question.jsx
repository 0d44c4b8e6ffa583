// What an agent asks a person: commands to decide on, in the form of LangChain's human-in-the-loop middleware, or anything
// else, which is shown as it is and answered in words.
import { useState } from "react";
import { Arguments } from "./messages.jsx";

export function Question({ value, answer }) {
  if (value?.action_requests) return <Requests value={value} answer={answer} />;
  return (
    <section className="question" aria-label="Question">
      <p>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</p>
      <Words label="Answer" button="Answer" done={answer} />
    </section>
  );
}

/** Several requests of one question are answered together, when each has its decision. */
function Requests({ value, answer }) {
  const { action_requests: requests, review_configs: reviews } = value;
  const [made, make] = useState({});
  const decide = (i) => (decision) => {
    const all = { ...made, [i]: decision };
    make(all);
    if (Object.keys(all).length === requests.length) answer({ decisions: requests.map((_, n) => all[n]) });
  };
  return requests.map((request, i) => !made[i] && (
    <Request key={i} request={request} allowed={reviews[i]?.allowed_decisions ?? ["approve", "reject"]} decide={decide(i)} />
  ));
}

function Request({ request, allowed, decide }) {
  const args = request.args ?? request.arguments ?? {};
  const open = allowed.includes("edit") ? Object.keys(args).filter((name) => args[name] === "") : [];
  const known = Object.fromEntries(Object.entries(args).filter(([name]) => !open.includes(name)));
  const edited = (name) => (text) => decide({ type: "edit", edited_action: { name: request.name, args: { ...args, [name]: text } } });
  return (
    <section className="question" aria-label={`Question: ${request.name}`}>
      <h2>{request.description ?? request.name}</h2>
      <Arguments of={known} />
      {open.map((name) => <Words key={name} label={name} button="Answer" done={edited(name)} />)}
      {allowed.includes("approve") && <button className="good" onClick={() => decide({ type: "approve" })}>Approve</button>}
      {allowed.includes("reject") && <Words label="Reason" button="Reject" done={(message) => decide({ type: "reject", message })} />}
    </section>
  );
}

function Words({ label, button, done }) {
  const [text, type] = useState("");
  const submit = (event) => {
    event.preventDefault();
    done(text);
  };
  return (
    <form onSubmit={submit}>
      <label>{label} <input value={text} onChange={(event) => type(event.target.value)} /></label>
      <button>{button}</button>
    </form>
  );
}
