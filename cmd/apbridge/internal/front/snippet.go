package front

import (
	"encoding/json"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// placeholder stands for an agent that the caller may not see.
const placeholder = "AGENT"

// words is the input in example programs.
const words = "hi"

// asked returns the parameters of example programs for the first visible agent.
func asked(s standing, agents []listed) adapter.SnippetParams {
	message := new(rawjson.Writer).Open('{').Key("role").Text("user").Key("content").Text(words).Close('}').Bytes
	a := adapter.SnippetParams{URL: s.URL, Agent: placeholder, Keys: s.Keys, Words: words}
	a.Input = json.RawMessage(`{"messages":[` + string(message) + `]}`)
	if len(agents) > 0 {
		a.Agent, a.Default = agents[0].Name, agents[0].Default
	}
	return a
}

// snippets returns the programs of all dialects, in the order of their documents.
func (f *front) snippets(a adapter.SnippetParams) (list []adapter.Snippet) {
	for _, p := range slices.Backward(f.Dialects.Programs(a)) {
		list = append(list, p.Snippets...)
	}
	return list
}

// first returns the program that is shown first, or nil.
func (f *front) first(a adapter.SnippetParams) *adapter.Snippet {
	if all := f.snippets(a); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// said returns one text field of each dialect, in the order of their documents.
func (f *front) said(field func(adapter.Dialect) string) (list []string) {
	for _, d := range slices.Backward(f.Dialects) {
		if text := field(d); text != "" {
			list = append(list, text)
		}
	}
	return list
}
