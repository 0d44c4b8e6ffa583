// The page: the chats on the left, one chat on the right. Bridge, agent and thread stand in the address, so that a reload
// and a link lead to the same chat.
import { Client } from "@langchain/langgraph-sdk";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.jsx";
import { Chats } from "./chats.jsx";

const asked = new URL(location.href).searchParams;
const bridge = asked.get("bridge") ?? "http://127.0.0.1:8080";
const transport = asked.get("transport") ?? "sse";
const client = new Client({ apiUrl: bridge });

function Page() {
  const [agent, choose] = useState(asked.get("agent"));
  const [thread, open] = useState(asked.get("thread"));
  const [made, count] = useState(0); // a new chat is a new page, although it has no thread yet
  const [answering, answers] = useState(false);
  const { agents, failure } = useAgents();
  const chosen = agent ?? agents[0]?.name;
  useEffect(() => keep({ agent: chosen, thread }), [chosen, thread]);
  const go = useCallback((id) => {
    open(id);
    count((n) => n + 1);
  }, []);
  if (failure) return <p role="alert" className="away">The bridge at {bridge} does not answer: {failure.message}. It must run, and let this page in: <code>apbridge serve --cors-origin loopback</code></p>;
  if (!chosen) return <p className="away">Looking for agents…</p>;
  return (
    <>
      <Chats client={client} open={thread} answering={answering} go={go} agents={agents} agent={chosen} choose={(name) => { choose(name); go(null); }} />
      <Chat key={made} bridge={bridge} transport={transport} agent={chosen} thread={thread} onThread={open} onAnswering={answers} />
    </>
  );
}

/** The agents behind the bridge. */
function useAgents() {
  const [found, set] = useState({ agents: [], failure: null });
  useEffect(() => {
    client.assistants.search({ limit: 100 }).then((agents) => set({ agents, failure: null }), (failure) => set({ agents: [], failure }));
  }, []);
  return found;
}

function keep({ agent, thread }) {
  const here = new URL(location.href);
  here.searchParams.set("agent", agent ?? "");
  if (thread) here.searchParams.set("thread", thread);
  else here.searchParams.delete("thread");
  history.replaceState(null, "", here);
}

createRoot(document.body).render(<Page />);
