// A scripted stand-in for AutoGPT's Agent Protocol server. It differs from the
// document in the same ways:
//
//   - the first step only proposes a command; "y" or no body approves it, any
//     other text is feedback and the command is not run;
//   - ask_user is the one command whose answer is the text of the next step;
//   - the last step has is_last with status "created";
//   - lists are paged by page/page_size (tasks) and page/pageSize (the rest);
//   - relative_path of an upload is a query parameter, the form field is ignored;
//   - an unknown task is 500 with plain text; a step body {} is 422.
//
//   node agent.mjs [PORT]
//
// A request with "ask" causes a question, one with "broken" never
// succeeds, and each step of one with "slowly" takes 700 ms.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

const tasks = [];
const stamp = () => new Date().toISOString().replace("Z", "000"); // naive, no zone

/** The current request, which the conversation so far may precede. */
const now = (input) => input.split("Current request:\n").at(-1);

function plan(asked) {
  const input = now(asked);
  const commands = [{ name: "write_to_file", arguments: { filename: "src/output.txt", contents: input } }];
  if (input.includes("ask")) {
    commands.unshift({ name: "ask_user", arguments: { question: "Which colour?" } });
  }
  return [...commands, { name: "finish", arguments: { reason: "All done" } }];
}

const call = (command) =>
  `${command.name}(${Object.entries(command.arguments).map(([k, v]) => `${k}=${JSON.stringify(v)}`)})`;

function artifact(task, name, path, bytes, agentCreated) {
  let found = task.artifacts.find((a) => a.file_name === name && a.relative_path === path);
  if (!found) {
    found = { artifact_id: randomUUID(), agent_created: agentCreated, file_name: name, relative_path: path };
    task.artifacts.push(found);
  }
  found.modified_at = stamp();
  found.created_at ??= stamp();
  task.bytes.set(found.artifact_id, bytes);
  return found;
}

/** Runs the approved command and returns its result. */
function act(task, command, words, made) {
  if (command.name === "ask_user") {
    task.answer = words;
    return words;
  }
  const { filename, contents } = command.arguments;
  const text = task.answer == null ? contents : `${contents} (${task.answer})`;
  made.push(artifact(task, filename.split("/").at(-1), filename, Buffer.from(text), true));
  return `File ${filename} has been written successfully.`;
}

function step(task, words) {
  const made = [];
  const answer = {
    created_at: stamp(), modified_at: stamp(), task_id: task.task_id, step_id: randomUUID(),
    name: words, input: words, status: "completed", output: "", additional_input: {},
    additional_output: { task_cumulative_cost: 0 }, artifacts: made, is_last: false,
  };
  if (now(task.input).includes("broken")) {
    answer.output = "An error occurred while proposing the next action: no model here";
    return answer;
  }
  const command = task.plan[task.at];
  const approved = task.proposed && (words === "y" || words === "" || command.name === "ask_user");
  if (approved && command.name === "finish") {
    Object.assign(answer, { status: "created", is_last: true, output: command.arguments.reason });
    return answer;
  }
  let told = "";
  if (task.proposed) {
    const { name, arguments: args } = command;
    let result = { feedback: words, status: "interrupted_by_human" };
    if (approved) {
      result = { outputs: act(task, command, words === "y" ? "" : words, made), status: "success" };
      task.at += 1;
    }
    answer.additional_output.last_action = { name, args, result };
    if (name !== "ask_user") told = `\`${call(command)}\` returned: ${result.outputs ?? result.feedback}\n\n`;
  }
  task.proposed = true;
  const proposal = task.plan[task.at];
  const speak = proposal.name === "finish" ? "That should be it." : "On it.";
  Object.assign(answer.additional_output, { thoughts: { reasoning: "It was asked for.", speak }, use_tool: proposal });
  answer.output = `${told}${speak}\n\n${proposal.name === "ask_user" ? proposal.arguments.question : `Next Command: ${call(proposal)}`}`;
  return answer;
}

const invalid = (field) => [422, { detail: [{ loc: ["body", field], msg: "field required", type: "value_error.missing" }] }];

function listed(key, list, url, sizeName) {
  const page = Number(url.searchParams.get("page") ?? 1);
  const size = Number(url.searchParams.get(sizeName) ?? 10);
  const pagination = {
    total_items: list.length, total_pages: Math.ceil(list.length / size), current_page: page, page_size: size,
  };
  return [200, { [key]: list.slice((page - 1) * size, page * size), pagination }];
}

async function upload(task, req, url, body) {
  const form = await new Response(body, { headers: { "content-type": req.headers["content-type"] } }).formData();
  const file = form.get("file");
  if (!file) return invalid("file");
  const folder = url.searchParams.get("relative_path") ?? "";
  const path = folder === "" || folder.endsWith(file.name) ? folder || file.name : `${folder}/${file.name}`;
  return [200, artifact(task, file.name, path, Buffer.from(await file.arrayBuffer()), false)];
}

function view({ task_id, input, additional_input, artifacts, created_at, modified_at }) {
  return { created_at, modified_at, task_id, input, additional_input, artifacts };
}

function create(body) {
  if (typeof body?.input !== "string" || body.input === "") return invalid("input");
  if (body.additional_input === null) return invalid("additional_input");
  const task = {
    task_id: randomUUID(), input: body.input, additional_input: body.additional_input ?? {}, created_at: stamp(),
    modified_at: stamp(), artifacts: [], steps: [], bytes: new Map(), plan: plan(body.input), at: 0, proposed: false,
  };
  tasks.push(task);
  return [200, view(task)];
}

async function execute(task, raw) {
  await pause(now(task.input).includes("slowly") ? 700 : Number(process.env.E2E_STEP_MS ?? 0));
  const body = raw.length > 0 ? JSON.parse(raw) : { input: "y" };
  if (typeof body.input !== "string") return invalid("input");
  const done = step(task, body.input);
  task.steps.push(done);
  return [200, done];
}

async function route(req, url, raw) {
  if (url.pathname === "/ap/v1/heartbeat") return [200, "Server is running."];
  const [taskID, kind, id, ...rest] = url.pathname.replace(/^\/ap\/v1\/agent\/tasks\/?/, "").split("/");
  if (!url.pathname.startsWith("/ap/v1/agent/tasks") || rest.length > 0) return [404, { detail: "Not Found" }];
  const post = req.method === "POST";
  if (!taskID) return post ? create(JSON.parse(raw)) : listed("tasks", tasks.map(view), url, "page_size");
  const task = tasks.find((t) => t.task_id === taskID);
  if (!task) return [500, "Internal Server Error"];
  if (!kind) return [200, view(task)];
  if (kind === "steps") {
    if (post) return execute(task, raw);
    return id ? [200, task.steps.find((s) => s.step_id === id)] : listed("steps", task.steps, url, "pageSize");
  }
  if (post) return upload(task, req, url, raw);
  return id ? [200, task.bytes.get(id)] : listed("artifacts", task.artifacts, url, "pageSize");
}

function write(res, [status, body]) {
  if (Buffer.isBuffer(body)) {
    res.writeHead(status, { "content-type": "application/octet-stream", "content-disposition": "attachment; filename=file" });
    return res.end(body);
  }
  const text = typeof body === "string";
  res.writeHead(status, { "content-type": text ? "text/plain; charset=utf-8" : "application/json" });
  res.end(text ? body : JSON.stringify(body));
}

const server = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  try {
    write(res, await route(req, new URL(req.url, "http://agent"), Buffer.concat(chunks)));
  } catch {
    write(res, [500, "Internal Server Error"]);
  }
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
