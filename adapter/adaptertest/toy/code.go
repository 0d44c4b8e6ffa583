package toy

import "github.com/apbridge/apbridge/adapter"

// code returns a command that sends the words again.
func code(a adapter.SnippetParams) []adapter.Snippet {
	return []adapter.Snippet{{ID: "curl-toy", Language: "curl", About: "the toy", Text: "curl -s " + adapter.InShell(a.URL+"/toy/say") + " --data-raw " + adapter.InShell(a.Words)}}
}
