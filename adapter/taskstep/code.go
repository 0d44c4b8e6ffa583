package taskstep

import (
	"strings"

	"github.com/apbridge/apbridge/adapter"
)

// code returns programs that create a task with the same text and request its first step, or all of its steps.
func code(a adapter.SnippetParams) []adapter.Snippet {
	return []adapter.Snippet{
		{ID: "curl-v1", Language: "curl", About: "Agent Protocol v1: a task and its first step, on a new thread", Text: curl(a)},
		{ID: "python-v1", Language: "Python", About: "Agent Protocol v1, step by step, with pip install agent-protocol-client", Text: python(a)},
	}
}

// base returns the URL below which the agent's task routes are.
func base(a adapter.SnippetParams) string {
	if a.Default {
		return a.URL
	}
	return a.URL + "/agents/" + a.Agent
}

func curl(a adapter.SnippetParams) string {
	tasks := adapter.InShell(base(a) + "/ap/v1/agent/tasks")
	return "task=$(curl -s " + tasks + " -H 'content-type: application/json' " + a.CurlKey() + "\\\n  -d " +
		adapter.InShell(`{"input":`+adapter.Quoted(a.Words)+`}`) + " | sed 's/.*\"task_id\":\"\\([^\"]*\\)\".*/\\1/')\n" +
		"curl -s -X POST " + tasks + "/$task/steps" + strings.TrimRight(" "+a.CurlKey(), " ")
}

func python(a adapter.SnippetParams) string {
	imports, key := "", ""
	if a.Keys {
		imports, key = "import os\n", "\n        client.set_default_header(\"x-api-key\", os.environ[\"APBRIDGE_KEY\"])"
	}
	return `import asyncio
` + imports + `
from agent_protocol_client import AgentApi, ApiClient, Configuration, TaskRequestBody

async def main():
    async with ApiClient(Configuration(host=` + adapter.Quoted(base(a)) + `)) as client:` + key + `
        agent = AgentApi(client)
        task = await agent.create_agent_task(task_request_body=TaskRequestBody(input=` + adapter.Quoted(a.Words) + `))
        last = False
        while not last:
            step = await agent.execute_agent_task_step(task_id=task.task_id)
            print(step.output)
            last = step.is_last

asyncio.run(main())`
}
