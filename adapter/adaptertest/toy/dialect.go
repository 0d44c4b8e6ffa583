// Package toy is a complete dialect in as few lines as possible: a face, a backend, and an agent. It shows the parts of
// a new dialect. Tests use it to check that a dialect needs nothing but its folder and a line in a table. Only tests
// mount it. It sets every field of adapter.Dialect that a dialect with clients and agents needs; Dialect explains why
// it omits the others.
//
// Its protocol has two routes. GET /toy returns "toy". POST /toy/say accepts words as text, with these headers:
//
//   - Toy-Talk names the conversation of the words. Without it a new one begins. Toy-Name is a name of the client's own
//     to use instead.
//   - Toy-Once names the request. A repeated request gets the same response, and nothing is done again.
//   - Toy-Task names a task that has not ended, to which the words are added.
//   - Toy-Hook is a URL that receives the end of the run: its talk, a blank and its status.
//   - Toy-Notify adds a hook to the task and may be repeated. It has an id, a URL, a token and the statuses to send,
//     separated by blanks.
//
// The response has the headers Toy-Talk and Toy-Task and a line for each output of the task as it is made, a JSON
// string after "- ". It ends with a line ".", with "?" if the last output is a question or, after a failure, with a
// JSON string after "! ". An agent asks with a JSON string after "? ".
//
// A server with several toys has further routes for each of them. POST /toys/{agent}/say is /toy/say for one toy. GET
// /toys/{agent}/card returns its name and needs no key. /toys/{agent}/hooks/{task} are the hooks of a task: GET returns
// a line for each, POST adds one in the format of Toy-Notify, and DELETE …/{hook} removes one.
package toy

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// The toy has only this flavour, and say as its only kind of request.
const (
	flavour mapping.Flavour = "toy"
	say     string          = "say"
)

const (
	talkHeader = "Toy-Talk"
	nameHeader = "Toy-Name"
	onceHeader = "Toy-Once"
	taskHeader = "Toy-Task"
	hookHeader = "Toy-Hook"

	notifyHeader = "Toy-Notify"
)

// Dialect returns both sides of the toy. It omits Aliases, because nobody types another name. For the face it omits
// Section, because it has no settings; Private, because its public paths are always public; Runs, because no path names a
// run; Store, because no path belongs to the long-term store; Chooses, because most clients get the default agent;
// ArtifactPath, because it serves no files; and Temporary, because it writes none. For the backend it omits Ends, because
// a toy's routes begin at the root of its URL.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:        "toy",
		Paths:       []string{"/toy", "/toys/{agent}"},
		PublicPaths: []string{"/toy", "/toys/{agent}/card"},
		Mount:       mount,
		Effect:      effect,
		Refusal:     func(e *mapping.Error) any { return map[string]string{"toy": e.Message} },
		Fields:      append(mapping.Fields(say, mapping.CapWords, "words"), mapping.BridgedFields(say, "talk", "name", "once", "task", "hook", "notify")...),
		Documents:   documents(),
		Speaks:      "words (the toy)",
		Flavours:    []adapter.Flavour{{Name: flavour, Request: say, Strategy: mapping.StrategyEnqueue}},
		Hook:        hook,
		Snippets:    code,
		Clients:     "Toy",
		Observe:     observe,

		Dial:         dial,
		Detect:       detect,
		Capabilities: capabilities(),
	}
}

// hook returns the request for a Toy-Hook of a run or a Toy-Notify of a task.
func hook(n adapter.HookNotice) (adapter.HookPost, error) {
	if n.Hook.ID == "" {
		body, err := json.Marshal(n.Run.ThreadID + " " + string(n.Outcome.Status))
		return adapter.HookPost{Body: body}, err
	}
	said := fmt.Sprintf("%s %s %s\n", n.Hook.ID, n.Run.TaskID, n.Status)
	return adapter.HookPost{Header: map[string]string{"Content-Type": "text/plain", "Toy-Token": n.Hook.Token}, Body: []byte(said)}, nil
}

// capabilities returns those of a toy. It accepts words, to which the bridge adds everything else that it sends to an
// opaque agent. Capabilities that are not listed are dropped.
func capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.CapWords: mapping.PassedOn(),
		mapping.CapTask:  mapping.PassedOn(),
		mapping.CapInput: mapping.Partial("A toy receives the text of the last human message."),

		mapping.CapTranscript: mapping.Partial("A conversation longer than memory.max_bytes loses its oldest messages."),
		mapping.CapItems:      mapping.Partial("Store items beyond memory.max_bytes are left out."),
		mapping.CapLinks:      mapping.Partial("A linked file is passed as its URL."),
	}
}
