package a2a

import "github.com/apbridge/apbridge/adapter"

// code returns a message with the same words, over JSON-RPC.
func code(a adapter.SnippetParams) []adapter.Snippet {
	at := a.URL + "/a2a/" + a.Agent
	call := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":` + adapter.Quoted(a.Words) + `}]}}}`
	curl := "curl -s " + adapter.InShell(at) + " -H 'a2a-version: 1.0' -H 'content-type: application/json' " + a.CurlKey() + "\\\n  -d " + adapter.InShell(call)
	return []adapter.Snippet{
		{ID: "curl-a2a", Language: "curl", About: "A2A: a message, answered with its task", Text: curl},
	}
}
