package threadrun

import (
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// code returns programs that start the run, for the command line and for LangGraph's SDKs.
func code(a adapter.SnippetParams) []adapter.Snippet {
	return []adapter.Snippet{
		{ID: "curl", Language: "curl", About: "threads and runs, from the command line", Text: curl(a)},
		{ID: "python", Language: "Python", About: "threads and runs, with pip install langgraph-sdk", Text: python(a)},
		{ID: "javascript", Language: "JavaScript", About: "threads and runs, with npm install @langchain/langgraph-sdk", Text: javascript(a)},
	}
}

func curl(a adapter.SnippetParams) string {
	w := new(rawjson.Writer).Open('{').Key("assistant_id").Text(a.Agent).Key("input").Raw(a.Input, "null")
	return "curl -s " + adapter.InShell(a.URL+"/runs/wait") + " -H 'content-type: application/json' " + a.CurlKey() + "\\\n  -d " +
		adapter.InShell(adapter.InASCII(w.Close('}').Bytes))
}

func python(a adapter.SnippetParams) string {
	imports, input := inPython(adapter.InASCII(a.Input))
	key := ""
	if a.Keys {
		imports, key = imports+"import os\n", `, api_key=os.environ["APBRIDGE_KEY"]`
	}
	if imports != "" {
		imports += "\n"
	}
	return imports + `from langgraph_sdk import get_sync_client

client = get_sync_client(url=` + adapter.Quoted(a.URL) + key + `)
values = client.runs.wait(
    None,
    ` + adapter.Quoted(a.Agent) + `,
    input=` + input + `,
)
print(values)`
}

// inPython returns JSON as a Python expression and the import that it needs. Most JSON is valid Python. The exceptions
// are true, false, null and some escapes, such as those of surrogate pairs.
func inPython(value string) (imports, expression string) {
	for _, other := range []string{`\`, "true", "false", "null"} {
		if strings.Contains(value, other) {
			return "import json\n", "json.loads(" + adapter.Quoted(value) + ")"
		}
	}
	return "", value
}

func javascript(a adapter.SnippetParams) string {
	key := ""
	if a.Keys {
		key = ", apiKey: process.env.APBRIDGE_KEY"
	}
	return `import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: ` + adapter.Quoted(a.URL) + key + ` });
const values = await client.runs.wait(null, ` + adapter.Quoted(a.Agent) + `, {
  input: ` + adapter.InASCII(a.Input) + `,
});
console.log(values);`
}
