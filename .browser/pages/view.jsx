// What every client's page shows, and what a person can do there. A client gives a chat:
//
//   messages   [{id, type, text, calls: [{id, name}], edit(text), again(), branches: {index, count, go(step)}}];
//              useForks, a hook, gives edit and again where only a hook knows them
//   questions  [{id, value}]
//   working, error, files (paths), threadId
//   send(text, file), answer(value, question), resolve(), stop()
//
// What a client does not have is left out, and so has no button.
import { useEffect, useState } from "react";

export function View({ chat }) {
  useEffect(() => keepThread(chat.threadId), [chat.threadId]);
  return (
    <main data-working={String(Boolean(chat.working))} data-thread={chat.threadId ?? ""}>
      <ol aria-label="Messages">
        {chat.messages.map((m, i) => <Message key={m.id ?? i} message={m} />)}
      </ol>
      {chat.questions.map((q, i) => <Question key={q.id ?? i} question={q} answer={(value) => chat.answer(value, q)} />)}
      {chat.questions.length > 0 && chat.resolve && <button onClick={() => chat.resolve()}>Mark as resolved</button>}
      {chat.error != null && <p role="alert">{chat.error.message ?? String(chat.error)}</p>}
      <ul aria-label="Files">{(chat.files ?? []).map((path) => <li key={path}>{path}</li>)}</ul>
      {chat.working && chat.stop && <button onClick={() => chat.stop()}>Stop</button>}
      <Composer label="Message" button="Send" send={chat.send} />
    </main>
  );
}

/** The thread stands in the address, so that a reload comes back to it. */
function keepThread(threadId) {
  if (!threadId) return;
  const here = new URL(location.href);
  here.searchParams.set("thread", threadId);
  history.replaceState(null, "", here);
}

function Message({ message }) {
  const [editing, edit] = useState(false);
  const forks = message.useForks?.() ?? message;
  remember(message);
  return (
    <li data-type={message.type} data-id={message.id}>
      <p>{message.text}</p>
      {message.calls?.map((call) => <section key={call.id} aria-label={`Tool ${call.name}`}>{call.name}</section>)}
      {forks.edit && !editing && <button onClick={() => edit(true)}>Edit</button>}
      {editing && <Composer label="Edited message" button="Save" send={(text) => { edit(false); forks.edit(text); }} />}
      {forks.again && <button onClick={() => forks.again()}>Again</button>}
      {message.branches && (
        <span>
          <button onClick={() => message.branches.go(-1)}>Previous</button>
          <output aria-label="Branch">{message.branches.index + 1}/{message.branches.count}</output>
          <button onClick={() => message.branches.go(1)}>Next</button>
        </span>
      )}
    </li>
  );
}

/** Every text that a message had on its way: tokens can be looked for after the run. */
function remember({ id, text }) {
  window.texts ??= {};
  const list = (window.texts[id] ??= []);
  if (list.at(-1) !== text) list.push(text);
}

function Composer({ label, button, send }) {
  const [text, type] = useState("");
  const [file, choose] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    type("");
    send(text, file);
  };
  return (
    <form onSubmit={submit}>
      <input aria-label={label} value={text} onChange={(event) => type(event.target.value)} />
      {label === "Message" && <input type="file" aria-label="File" onChange={(event) => read(event.target.files[0]).then(choose)} />}
      <button>{button}</button>
    </form>
  );
}

async function read(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, mimeType: file.type, data: btoa(String.fromCharCode(...bytes)) };
}

/** A question: today's form with its decisions, last year's form, or whatever the agent asks. */
function Question({ question, answer }) {
  const { value } = question;
  const request = value?.action_requests?.[0];
  if (request) return <Decisions request={request} allowed={value.review_configs[0].allowed_decisions} decide={(decision) => answer({ decisions: [decision] })} />;
  const old = Array.isArray(value) && value[0]?.action_request;
  if (old) {
    return (
      <section aria-label={`Question ${old.action}`}>
        <button onClick={() => answer([{ type: "accept", args: null }])}>Accept</button>
      </section>
    );
  }
  return <section aria-label="Unknown question"><pre>{JSON.stringify(value)}</pre></section>;
}

/** The card of a request: its arguments, fields for those that are empty, and a button for each decision. */
function Decisions({ request, allowed, decide }) {
  const args = request.args ?? {};
  const empty = Object.keys(args).filter((key) => args[key] === "");
  return (
    <section aria-label={`Question ${request.name}`}>
      <dl>{Object.entries(args).map(([key, value]) => <div key={key}><dt>{key}</dt><dd>{JSON.stringify(value)}</dd></div>)}</dl>
      {allowed.includes("edit") && empty.map((key) => (
        <Composer key={key} label={key} button="Submit" send={(text) => decide({ type: "edit", edited_action: { name: request.name, args: { ...args, [key]: text } } })} />
      ))}
      {allowed.includes("approve") && <button onClick={() => decide({ type: "approve" })}>Approve</button>}
      {allowed.includes("reject") && <Composer label="Reason" button="Reject" send={(message) => decide({ type: "reject", message })} />}
    </section>
  );
}
