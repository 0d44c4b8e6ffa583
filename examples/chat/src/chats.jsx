// The list of chats: open one, begin one, delete one.
import { useEffect, useState } from "react";
import { words } from "./words.js";

export function Chats({ client, open, answering, go, agents, agent, choose }) {
  const [list, set] = useState([]);
  const look = () => client.threads.search({ limit: 50, sortBy: "updated_at", sortOrder: "desc" }).then(set);
  useEffect(() => void look().catch(() => set([])), [open, answering]);
  const remove = async (id) => {
    await client.threads.delete(id);
    await look();
    if (id === open) go(null);
  };
  return (
    <nav aria-label="Chats">
      <label>
        Agent
        <select value={agent} onChange={(event) => choose(event.target.value)}>
          {agents.map((a) => <option key={a.assistant_id} value={a.name}>{a.name}</option>)}
        </select>
      </label>
      <button className="new" onClick={() => go(null)}>New chat</button>
      <ul>
        {list.map((thread) => (
          <li key={thread.thread_id} aria-current={thread.thread_id === open}>
            <button onClick={() => go(thread.thread_id)}>{title(thread)}</button>
            <button className="remove" aria-label={`Delete ${title(thread)}`} onClick={() => remove(thread.thread_id)}>×</button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** A chat is called by the first words in it; a mark says that it waits for a person. */
function title({ values, status }) {
  const first = values?.messages?.find((m) => m.type === "human");
  return (status === "interrupted" ? "? " : "") + (words(first?.content).slice(0, 60) || "Empty chat");
}
