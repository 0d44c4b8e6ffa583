// One chat, on the hook of @langchain/react.
import { useStream } from "@langchain/react";
import { useEffect } from "react";
import { Composer } from "./composer.jsx";
import { Files } from "./files.jsx";
import { Messages } from "./messages.jsx";
import { Question } from "./question.jsx";

export function Chat({ bridge, transport, agent, thread, onThread, onAnswering }) {
  const stream = useStream({ apiUrl: bridge, assistantId: agent, threadId: thread, onThreadId: onThread, transport });
  const answering = stream.isLoading && stream.messages.at(-1)?.getType() !== "human"; // the thread is there by then
  useEffect(() => onAnswering(answering), [answering]);
  return (
    <main>
      <Messages list={stream.messages} working={stream.isLoading} />
      {stream.interrupts.map((asked) => (
        <Question key={asked.id} value={asked.value} answer={(value) => stream.respond(value, { interruptId: asked.id })} />
      ))}
      {stream.error != null && <p role="alert">{stream.error.message ?? String(stream.error)}</p>}
      <Files files={stream.values.files ?? {}} bridge={bridge} />
      <Composer
        working={stream.isLoading}
        send={(content) => stream.submit({ messages: [{ type: "human", content }] })}
        stop={() => stream.stop()}
      />
    </main>
  );
}
