package front

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// placeholder stands for an agent that the caller is not told of.
const placeholder = "AGENT"

// words are what a program says to the agent.
const words = "hi"

// asked is the run that programs to copy ask for, by the first of the agents that the caller is shown.
func asked(s standing, agents []listed) adapter.SnippetParams {
	message := new(rawjson.Writer).Open('{').Key("role").Text("user").Key("content").Text(words).Close('}').Bytes
	a := adapter.SnippetParams{URL: s.URL, Agent: placeholder, Keys: s.Keys, Words: words}
	a.Input = json.RawMessage(`{"messages":[` + string(message) + `]}`)
	if len(agents) > 0 {
		a.Agent, a.Default = agents[0].Name, agents[0].Default
	}
	return a
}

// snippets are the programs of all dialects, in the order of their documents.
func (f *front) snippets(a adapter.SnippetParams) (list []adapter.Snippet) {
	for _, p := range slices.Backward(f.Dialects.Programs(a)) {
		list = append(list, p.Snippets...)
	}
	return list
}

// first is the program that is shown first; nil where there is none.
func (f *front) first(a adapter.SnippetParams) *adapter.Snippet {
	if all := f.snippets(a); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// said is what each dialect says of itself by one of its fields, in the order of their documents.
func (f *front) said(field func(adapter.Dialect) string) (list []string) {
	for _, d := range slices.Backward(f.Dialects) {
		if text := field(d); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// plainWord reports whether a word is the same for the shell without quotes.
func plainWord(text string) bool { return adapter.InShell(text) == text }
