// A task driven step by step in JavaScript, without any package.
//
//   node examples/clients/task.mjs [BRIDGE URL] [INPUT]
//
// For an agent that is not the default one, append /agents/NAME to the URL.
const tasks = `${process.argv[2] ?? "http://127.0.0.1:8080"}/ap/v1/agent/tasks`;
const input = process.argv[3] ?? "Write the word Washington to a file";

async function call(method, url, body) {
  const response = await fetch(url, { method, headers: { "content-type": "application/json" }, body });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}

const { task_id: task } = await (await call("POST", tasks, JSON.stringify({ input }))).json();
console.log("task", task);

const form = new FormData();
form.set("file", new Blob(["Write it in capitals.\n"]), "notes.txt");
await fetch(`${tasks}/${task}/artifacts`, { method: "POST", body: form });

for (let n = 1, last = false; !last && n <= 20; n++) {
  const step = await (await call("POST", `${tasks}/${task}/steps`)).json(); // no body: continue
  console.log(`${n}. ${step.name ?? "step"}: ${step.output}`);
  last = step.is_last;
}

const { artifacts } = await (await call("GET", `${tasks}/${task}/artifacts`)).json();
for (const { artifact_id, file_name } of artifacts) {
  const bytes = await (await call("GET", `${tasks}/${task}/artifacts/${artifact_id}`)).text();
  console.log(`\n--- ${file_name}\n${bytes}`);
}
