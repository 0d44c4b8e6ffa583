package threadrun

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// code is the run for the command line and for LangGraph's SDKs.
func code(a adapter.Asked) []adapter.Code {
	return []adapter.Code{
		{Language: "curl", About: "threads and runs, from the command line", Text: curl(a)},
		{Language: "Python", About: "threads and runs, with pip install langgraph-sdk", Text: python(a)},
		{Language: "JavaScript", About: "threads and runs, with npm install @langchain/langgraph-sdk", Text: javascript(a)},
	}
}

func curl(a adapter.Asked) string {
	w := new(rawjson.Writer).Open('{').Key("assistant_id").Text(a.Agent).Key("input").Raw(a.Input, "null")
	return "curl -s " + adapter.InShell(a.URL+"/runs/wait") + " -H 'content-type: application/json' " + a.CurlKey() + "\\\n  -d " +
		adapter.InShell(adapter.InASCII(w.Close('}').Bytes))
}

func python(a adapter.Asked) string {
	imports, key := "import json\n", ""
	if a.Keys {
		imports, key = imports+"import os\n", `, api_key=os.environ["APBRIDGE_KEY"]`
	}
	return imports + `
from langgraph_sdk import get_sync_client

client = get_sync_client(url=` + adapter.Quoted(a.URL) + key + `)
values = client.runs.wait(
    None,
    ` + adapter.Quoted(a.Agent) + `,
    input=json.loads(` + adapter.Quoted(adapter.InASCII(a.Input)) + `),
)
print(values)`
}

func javascript(a adapter.Asked) string {
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
