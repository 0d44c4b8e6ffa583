// Clients of tasks and steps, a benchmark harness and the official Postman suite, with a real LangGraph server and with
// task/step agents.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Harness } from "./benchmark.mjs";
import { call } from "./http.mjs";
import { skip, suite } from "./newman.mjs";

const bridge = process.env.E2E_BRIDGE;
const before = (agent) => new Harness(`${bridge}/agents/${agent}`);

describe("a benchmark harness before a LangGraph server", () => {
  test("create, upload, step to the end, download", async () => {
    const harness = before("files");
    const task = await harness.create("Write the word 'Washington' to a .txt file");
    assert.deepEqual([task.input, task.artifacts], ["Write the word 'Washington' to a .txt file", []]);
    await harness.upload(task.task_id, "hello wörld.txt", "input file");
    await harness.upload(task.task_id, "deep.txt", "deep file", "data/in");
    const steps = await harness.drive(task.task_id);
    assert.deepEqual(steps.map((s) => [s.name, s.is_last, s.status]), [
      ["draft", false, "completed"], ["finish", true, "completed"],
    ]);
    assert.match(steps[0].output, /data\/in\/deep\.txt.*hello wörld\.txt/, "uploads are in the agent's state");
    const files = await harness.download(task.task_id);
    assert.equal(files.get("output.txt"), "Write the word 'Washington' to a .txt file");
    assert.equal(files.get("notes/draft.md"), "# Final\n");
    assert.equal(files.get("hello wörld.txt"), "input file");
    assert.equal(files.get("data/in/deep.txt"), "deep file");
    assert.equal(files.has("scratch.txt"), false, "a file the agent deleted is gone");
    assert.equal([...files.keys()][0], "output.txt", "made by the agent and in the root comes first");
  });

  test("tasks, steps and artifacts are listed and read back as they were given", async () => {
    const harness = before("files");
    const task = await harness.create("list me", { additional_input: { k: "v" } });
    const steps = await harness.drive(task.task_id);
    const read = await harness.get(task.task_id);
    assert.deepEqual([read.input, read.additional_input.k], ["list me", "v"]);
    const listed = await harness.get(task.task_id, "/steps");
    assert.deepEqual(listed.steps, steps);
    assert.deepEqual(listed.pagination, { total_items: 2, total_pages: 1, current_page: 1, page_size: 10 });
    assert.deepEqual(await harness.get(task.task_id, `/steps/${steps[0].step_id}`), steps[0]);
    const page = await harness.get(task.task_id, "/artifacts?page_size=1&current_page=2");
    assert.deepEqual([page.artifacts.length, page.pagination.total_items], [1, 2]);
    const tasks = await call("GET", `${harness.tasks}?page_size=100`);
    assert.ok(tasks.body.tasks.some((t) => t.task_id === task.task_id));
  });

  test("tokens of a chat model become whole outputs of steps", async () => {
    const harness = before("chat");
    const { task_id } = await harness.create("hello");
    const steps = await harness.drive(task_id);
    assert.deepEqual(steps.map((s) => [s.name, s.output]), [["plan", "planning"], ["answer", "you said: hello"]]);
  });

  test("nothing starts before the first step", async () => {
    const harness = before("chat");
    const { task_id } = await harness.create("wait for me");
    assert.deepEqual((await harness.get(task_id, "/steps")).steps, []);
    const thread = await call("GET", `${bridge}/threads/${task_id}`);
    assert.equal(thread.body.status, "idle");
  });

  test("a step after the last gives the last again", async () => {
    const harness = before("chat");
    const { task_id } = await harness.create("twice");
    const last = (await harness.drive(task_id)).at(-1);
    const again = await harness.step(task_id);
    assert.deepEqual([again.step_id, again.is_last], [last.step_id, true]);
  });

  test("a question is a step, answered by the next step's input", async () => {
    const harness = before("ask");
    const { task_id } = await harness.create("the mail");
    const first = await harness.step(task_id);
    const question = await harness.step(task_id);
    assert.equal(first.name, "prepare");
    assert.deepEqual([question.is_last, question.output], [false, "Send this mail?"]);
    const answered = await harness.step(task_id, { input: "yes, but be polite" });
    assert.match(answered.output, /yes, but be polite/);
    const last = await harness.step(task_id);
    assert.deepEqual([last.name, last.is_last], ["done", true]);
  });

  test("a harness that never answers gets past a question by the default answer", async () => {
    const harness = before("ask");
    const { task_id } = await harness.create("the mail");
    const steps = await harness.drive(task_id);
    assert.match(steps.at(-2).output, /accept/);
    assert.equal(steps.at(-1).output, "done");
  });

  test("a failure is a last step with the error in it, never a 5xx", async () => {
    const harness = before("fail");
    const { task_id } = await harness.create("break");
    const steps = await harness.drive(task_id);
    const last = steps.at(-1);
    assert.deepEqual([last.status, last.is_last], ["completed", true]);
    assert.match(last.additional_output.error.message, /failed on purpose/);
    assert.match(last.output, /^Error/);
  });

  test("lockstep: the agent does one node a step and then waits", async () => {
    const harness = before("lockstep");
    const { task_id } = await harness.create("one by one");
    const first = await harness.step(task_id);
    assert.deepEqual([first.name, first.is_last], ["draft", false]);
    const thread = await call("GET", `${bridge}/threads/${task_id}`);
    assert.equal(thread.body.status, "interrupted");
    const second = await harness.step(task_id);
    assert.deepEqual([second.name, second.is_last], ["finish", true]);
  });

  test("lockstep: a file that comes between two steps is in the agent's state with the next", async () => {
    const harness = before("lockstep");
    const { task_id } = await harness.create("wait for the file");
    await harness.step(task_id);
    await harness.upload(task_id, "late.txt", "it came late");
    const last = await harness.step(task_id);
    assert.deepEqual([last.name, last.is_last], ["finish", true]);
    const { body: thread } = await call("GET", `${bridge}/threads/${task_id}`);
    assert.equal(thread.values.files["/late.txt"].content, "it came late");
    assert.ok(thread.values.files["/output.txt"], "the graph went on from where it was");
    assert.equal((await harness.download(task_id)).get("late.txt").toString(), "it came late");
    const { artifacts } = await harness.get(task_id, "/artifacts");
    assert.equal(artifacts.find((a) => a.file_name === "late.txt").agent_created, false);
  });

  test("run: one step is the whole run", async () => {
    const harness = before("whole");
    const { task_id } = await harness.create("at once");
    const steps = await harness.drive(task_id);
    assert.equal(steps.length, 1);
    assert.ok((await harness.download(task_id)).has("output.txt"));
  });

  test("the task is a thread for clients of threads", async () => {
    const harness = before("files");
    const { task_id } = await harness.create("seen from both sides");
    await harness.drive(task_id);
    const { body: thread } = await call("GET", `${bridge}/threads/${task_id}`);
    assert.equal(thread.values.messages[0].content, "seen from both sides");
    assert.ok(thread.values.files["/output.txt"]);
    const { body: found } = await call("POST", `${bridge}/threads/search`, { metadata: { graph_id: "files" }, limit: 1000 });
    assert.ok(found.some((t) => t.thread_id === task_id));
  });

  test("unsafe file names are refused and leave nothing", async () => {
    const harness = before("files");
    const { task_id } = await harness.create("careful");
    await assert.rejects(harness.upload(task_id, "x.txt", "evil", "../../etc"), /: 4\d\d /);
    assert.deepEqual((await harness.get(task_id, "/artifacts")).artifacts, []);
  });
});

describe("a benchmark harness before task/step agents", () => {
  test("a harness drives the JavaScript SDK agent in lockstep", async () => {
    const harness = before("jsagent");
    const task = await harness.create("write Washington");
    await harness.upload(task.task_id, "in.txt", "given");
    const steps = await harness.drive(task.task_id);
    assert.deepEqual(steps.map((s) => [s.name, s.output, s.is_last]), [
      ["think", "asked: write Washington given: in.txt=given", false],
      ["write", "wrote result.txt", false],
      ["finish", "done", true],
    ]);
    const files = await harness.download(task.task_id);
    assert.equal(files.get("out/result.txt"), "result of write Washington");
    assert.deepEqual((await harness.get(task.task_id, "/steps")).steps, steps, "the agent cannot list its steps, the bridge can");
  });

  test("a step's words reach the agent verbatim", async () => {
    const harness = before("jsagent");
    const { task_id } = await harness.create("listen");
    await harness.step(task_id);
    await harness.step(task_id);
    const last = await harness.step(task_id, { input: "y, and more" });
    assert.equal(last.output, "done, you said y, and more");
  });

  test("an AutoGPT-like agent is approved, asked and ended step by step", async () => {
    const harness = before("autogpt");
    const { task_id } = await harness.create("ask about colours");
    const question = await harness.step(task_id);
    assert.deepEqual([question.output, question.is_last], ["On it.\n\nWhich colour?", false]);
    await harness.step(task_id, { input: "blue" });
    const rest = await harness.drive(task_id);
    const last = rest.at(-1);
    assert.deepEqual([last.output, last.is_last, last.status], ["All done", true, "completed"]);
    const files = await harness.download(task_id);
    assert.match(files.get("src/output.txt"), /\(blue\)/);
  });

  test("an agent that breaks ends its task with the error, never with a 5xx", async () => {
    const harness = before("jsagent");
    const { task_id } = await harness.create("please fail");
    const last = (await harness.drive(task_id)).at(-1);
    assert.match(last.additional_output.error.message, /failed on purpose/);
  });
});

describe("the official Postman suite", () => {
  for (const agent of ["files", "chat", "lockstep", "jsagent", "autogpt"]) {
    test(`passes before ${agent}`, { skip }, async () => {
      const { total, failures } = await suite(`${bridge}/agents/${agent}`);
      assert.deepEqual(failures, []);
      assert.equal(total, 27, "all assertions of the suite ran");
    });
  }
});
