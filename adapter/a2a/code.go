package a2a

import (
	"strings"

	"github.com/apbridge/apbridge/adapter"
)

// code returns a message with the same words, over JSON-RPC.
func code(a adapter.SnippetParams) []adapter.Snippet {
	at := a.URL + "/a2a/" + a.Agent
	call := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":` + adapter.Quoted(a.Words) + `}]}}}`
	curl := "curl -s " + adapter.InShell(at) + " -H 'a2a-version: 1.0' -H 'content-type: application/json' " + a.CurlKey() + "\\\n  -d " + adapter.InShell(call)
	return []adapter.Snippet{
		{ID: "curl-a2a", Language: "curl", About: "A2A: a message, answered with its task", Text: curl},
		{ID: "javascript-a2a", Language: "JavaScript", About: "A2A, as a stream, with npm install @a2a-js/sdk", Text: javascript(a, at)},
	}
}

func javascript(a adapter.SnippetParams, at string) string {
	// The URL needs the slash: the SDK resolves the card's path against it.
	create := "new ClientFactory().createFromUrl(" + adapter.Quoted(at+"/") + ")"
	if a.Keys {
		create = `const send = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, "x-api-key": process.env.APBRIDGE_KEY } });
const client = await new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl: send })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl: send }),
}).createFromUrl(` + adapter.Quoted(at+"/") + `)`
	} else {
		create = "const client = await " + create
	}
	names := "ClientFactory"
	if a.Keys {
		names = "ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory"
	}
	return strings.Join([]string{
		`import { randomUUID } from "node:crypto";`,
		`import { ` + names + ` } from "@a2a-js/sdk/client";`,
		``,
		create + ";",
		`const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ content: { $case: "text", value: ` + adapter.Quoted(a.Words) + ` } }] };`,
		`for await (const event of client.sendMessageStream({ message })) {`,
		`  console.log(JSON.stringify(event));`,
		`}`,
	}, "\n")
}
