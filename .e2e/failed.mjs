// A reporter for node --test that writes the paths of files with a failed test, one a line.
export default async function* (events) {
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.nesting === 0 && data.file && data.todo === undefined) yield `${data.file}\n`;
  }
}
