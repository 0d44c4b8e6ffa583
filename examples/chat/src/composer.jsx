// Where a person types. Enter sends, Shift and Enter begins a line; a file goes along as a part of the message.
import { useRef, useState } from "react";

export function Composer({ working, send, stop }) {
  const [text, type] = useState("");
  const [files, attach] = useState([]);
  const form = useRef(null);
  const submit = async (event) => {
    event.preventDefault();
    if (text.trim() === "" && files.length === 0) return;
    const parts = await Promise.all(files.map(part));
    type("");
    attach([]);
    send(parts.length > 0 ? [{ type: "text", text }, ...parts] : text);
  };
  const key = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    form.current.requestSubmit();
  };
  return (
    <form className="composer" ref={form} onSubmit={submit}>
      {files.map((file) => <span className="file" key={file.name}>{file.name}</span>)}
      <textarea aria-label="Message" rows="2" placeholder="Message" value={text} onChange={(event) => type(event.target.value)} onKeyDown={key} />
      <label className="attach">
        Attach
        <input type="file" multiple onChange={(event) => attach([...event.target.files])} />
      </label>
      {working ? <button type="button" className="stop" onClick={stop}>Stop</button> : <button>Send</button>}
    </form>
  );
}

/** A file as a part of a message's content. */
async function part(file) {
  const url = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return {
    type: file.type.startsWith("image/") ? "image" : "file",
    mimeType: file.type || "application/octet-stream",
    data: url.slice(url.indexOf(",") + 1),
    metadata: { filename: file.name },
  };
}
