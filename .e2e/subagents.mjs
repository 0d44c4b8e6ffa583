// The async subagents of deepagents: their real middleware starts, checks, updates, lists and cancels runs through the
// bridge, with agents of all kinds, and on the LangGraph server itself. The tools are called as by an agent, with the state
// that they keep.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAsyncSubAgentMiddleware } from "deepagents";
import { until } from "./http.mjs";

const url = process.env.E2E_BRIDGE;
const direct = " without the bridge";
const names = ["jsagent", "autogpt", "chat", "slow", "fail", "away", `chat${direct}`, `slow${direct}`];
const at = (name) => (name.endsWith(direct) ? process.env.E2E_LANGGRAPH : url);
const { tools } = createAsyncSubAgentMiddleware({
  asyncSubAgents: names.map((name) => ({ name, graphId: name.split(" ")[0], url: at(name), description: `the agent ${name}` })),
});

/** One parent agent: its tools, and the tasks in its state. */
class Parent {
  tasks = {};

  /** Calls a tool and returns the text that the parent's model would read. */
  async call(name, args) {
    const id = crypto.randomUUID();
    const runtime = { state: { asyncTasks: this.tasks }, toolCallId: id, toolCall: { id }, config: { configurable: {} } };
    const answer = await tools.find((tool) => tool.name === name).func(args, undefined, runtime);
    if (typeof answer === "string") return answer;
    Object.assign(this.tasks, answer.update.asyncTasks);
    return answer.update.messages[0].content;
  }

  async start(agentName, description) {
    return /taskId: (\S+)/.exec(await this.call("start_async_task", { agentName, description }))?.[1];
  }

  async check(taskId) {
    return JSON.parse(await this.call("check_async_task", { taskId }));
  }

  /** Checks the task until it has ended. */
  over(taskId) {
    return until("the end of a task", () => this.check(taskId), (r) => !["pending", "running"].includes(r.status));
  }
}

describe("async subagents of deepagents", { concurrency: 4 }, () => {
  for (const [agent, last] of [["jsagent", "done"], ["autogpt", "All done"], ["chat", "you said: a report"], [`chat${direct}`, "you said: a report"]]) {
    test(`${agent}: started, checked, and its last message read`, async () => {
      const parent = new Parent();
      const taskId = await parent.start(agent, "a report");
      assert.deepEqual(await parent.over(taskId), { status: "success", threadId: taskId, result: last });
      assert.equal(parent.tasks[taskId].status, "success");
    });

    test(`${agent}: told more after its end, it goes on in the same conversation`, async () => {
      const parent = new Parent();
      const taskId = await parent.start(agent, "a report");
      await parent.over(taskId);
      const { runId } = parent.tasks[taskId];
      assert.match(await parent.call("update_async_task", { taskId, message: "a shorter one" }), /^Updated/);
      assert.notEqual(parent.tasks[taskId].runId, runId);
      assert.equal((await parent.over(taskId)).status, "success");
      const { values } = await fetch(`${at(agent)}/threads/${taskId}`).then((r) => r.json());
      const said = values.messages.filter((m) => m.type === "human").map((m) => m.content);
      assert.deepEqual(said, ["a report", "a shorter one"]);
    });
  }

  for (const [agent, description] of [["jsagent", "slow 20000"], ["slow", "20000"], [`slow${direct}`, "20000"]]) {
    test(`${agent}: updated in mid-run, the old run is interrupted and the new one ends`, async () => {
      const parent = new Parent();
      const taskId = await parent.start(agent, description);
      const first = parent.tasks[taskId].runId;
      await until("a running run", () => parent.check(taskId), (r) => r.status === "running");
      assert.match(await parent.call("update_async_task", { taskId, message: "now in 10" }), /^Updated/);
      assert.equal((await parent.over(taskId)).status, "success");
      const old = await fetch(`${at(agent)}/threads/${taskId}/runs/${first}`).then((r) => r.json());
      assert.equal(old.status, "interrupted");
    });

    test(`${agent}: cancelled in mid-run`, async () => {
      const parent = new Parent();
      const taskId = await parent.start(agent, description);
      await until("a running run", () => parent.check(taskId), (r) => r.status === "running");
      assert.match(await parent.call("list_async_tasks", {}), /1 tracked.*status: running/s);
      assert.match(await parent.call("cancel_async_task", { taskId }), /^Cancelled/);
      const run = `${at(agent)}/threads/${taskId}/runs/${parent.tasks[taskId].runId}`;
      await until("the end of the run", () => fetch(run).then((r) => r.json()), (r) => r.status === "interrupted");
      assert.match(await parent.call("list_async_tasks", {}), /status: cancelled/);
    });
  }

  for (const [agent, description, why] of [
    ["jsagent", "please fail", /failed on purpose/], ["fail", "go", /failed on purpose/], ["away", "anybody?", /cannot be reached/],
  ]) {
    test(`${agent}: a failure is told as one, with its reason on the run`, async () => {
      const parent = new Parent();
      const taskId = await parent.start(agent, description);
      assert.equal((await parent.over(taskId)).status, "error");
      const run = await fetch(`${url}/threads/${taskId}/runs/${parent.tasks[taskId].runId}`).then((r) => r.json());
      assert.match(run.error, why);
      assert.match(await parent.call("list_async_tasks", { statusFilter: "error" }), /status: error/);
    });
  }

  test("an agent that is not there is told at once", async () => {
    const { tools: [start] } = createAsyncSubAgentMiddleware({
      asyncSubAgents: [{ name: "nobody", graphId: "nobody", url, description: "not configured" }],
    });
    const answer = await start.func({ agentName: "nobody", description: "hello?" }, undefined, { toolCallId: "1", state: {}, config: {} });
    assert.match(answer, /^Failed to launch.*404/s);
  });
});
