package front

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
)

// snippet is a program or command to copy.
type snippet struct {
	ID, Language, Does string
	Code               string
}

// user is the caller that a snippet is made for.
type user struct {
	url   string
	agent string // as clients name it
	main  bool   // it is the default agent
	keys  bool   // the bridge asks for keys
}

// placeholder stands for an agent that the caller is not told of.
const placeholder = "AGENT"

func userOf(s standing, agents []listed) user {
	u := user{url: s.URL, agent: placeholder, keys: s.Keys}
	if len(agents) > 0 {
		u.agent, u.main = agents[0].Name, agents[0].Default
	}
	return u
}

// snippets are one run in each language, and one task. Every program prints the agent's answer.
func snippets(u user) []snippet {
	return []snippet{
		{"curl", "curl", "a run, from the command line", u.curlRun()},
		{"python", "Python", "the same, with pip install langgraph-sdk", u.pythonRun()},
		{"javascript", "JavaScript", "the same, with npm install @langchain/langgraph-sdk", u.javascriptRun()},
		{"curl-v1", "curl, Agent Protocol v1", "a task and its first step", u.curlTask()},
		{"python-v1", "Python, Agent Protocol v1", "a task step by step, with pip install agent-protocol-client", u.pythonTask()},
	}
}

func (u user) curlRun() string {
	body := `{"assistant_id":` + quoted(u.agent) + `,"input":{"messages":[{"role":"user","content":"hi"}]}}`
	return "curl -s " + adapter.InShell(u.url+"/runs/wait") + " " + u.curlHead() + "\\\n  -d " + adapter.InShell(body)
}

// curlHead are the headers of a request with a body.
func (u user) curlHead() string { return "-H 'content-type: application/json' " + u.curlKey() }

// curlKey is followed by a space where there is one.
func (u user) curlKey() string {
	if !u.keys {
		return ""
	}
	return `-H "x-api-key: $APBRIDGE_KEY" `
}

func (u user) pythonRun() string {
	imports, key := "", ""
	if u.keys {
		imports, key = "import os\n\n", `, api_key=os.environ["APBRIDGE_KEY"]`
	}
	return imports + `from langgraph_sdk import get_sync_client

client = get_sync_client(url=` + quoted(u.url) + key + `)
values = client.runs.wait(
    None,
    ` + quoted(u.agent) + `,
    input={"messages": [{"role": "user", "content": "hi"}]},
)
print(values)`
}

func (u user) javascriptRun() string {
	key := ""
	if u.keys {
		key = ", apiKey: process.env.APBRIDGE_KEY"
	}
	return `import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: ` + quoted(u.url) + key + ` });
const values = await client.runs.wait(null, ` + quoted(u.agent) + `, {
  input: { messages: [{ role: "user", content: "hi" }] },
});
console.log(values);`
}

// base is below what the tasks of the agent are.
func (u user) base() string {
	if u.main {
		return u.url
	}
	return u.url + "/agents/" + u.agent
}

func (u user) curlTask() string {
	tasks := adapter.InShell(u.base() + "/ap/v1/agent/tasks")
	return "task=$(curl -s " + tasks + " " + u.curlHead() + "\\\n  -d '{\"input\":\"hi\"}' | sed 's/.*\"task_id\":\"\\([^\"]*\\)\".*/\\1/')\n" +
		"curl -s -X POST " + tasks + "/$task/steps" + strings.TrimRight(" "+u.curlKey(), " ")
}

func (u user) pythonTask() string {
	imports, key := "", ""
	if u.keys {
		imports, key = "import os\n", "\n        client.set_default_header(\"x-api-key\", os.environ[\"APBRIDGE_KEY\"])"
	}
	return `import asyncio
` + imports + `
from agent_protocol_client import AgentApi, ApiClient, Configuration, TaskRequestBody

async def main():
    async with ApiClient(Configuration(host=` + quoted(u.base()) + `)) as client:` + key + `
        agent = AgentApi(client)
        task = await agent.create_agent_task(task_request_body=TaskRequestBody(input="hi"))
        last = False
        while not last:
            step = await agent.execute_agent_task_step(task_id=task.task_id)
            print(step.output)
            last = step.is_last

asyncio.run(main())`
}

// quoted is a text as JSON, JavaScript and Python write it, in ASCII.
func quoted(text string) string {
	b, err := json.Marshal(page.Shown(text))
	if err != nil {
		return `""` // a string can be encoded
	}
	return string(b)
}
