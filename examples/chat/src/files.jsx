// The files of the thread. Small ones come with the state; for large ones it has an address on the bridge.
export function Files({ files, bridge }) {
  const paths = Object.keys(files).sort();
  if (paths.length === 0) return null;
  return (
    <details className="files">
      <summary>{paths.length} {paths.length === 1 ? "file" : "files"}</summary>
      <ul>{paths.map((path) => <li key={path}><File path={path} file={files[path]} bridge={bridge} /></li>)}</ul>
    </details>
  );
}

function File({ path, file, bridge }) {
  if (file.url) return <a href={bridge + file.url} download>{path} ({file.size} bytes)</a>;
  const type = file.mimeType ?? "text/plain";
  const text = Array.isArray(file.content) ? file.content.join("\n") : file.content;
  const address = file.encoding === "base64" ? `data:${type};base64,${text}` : `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
  return <a href={address} download={path.split("/").at(-1)}>{path}</a>;
}
