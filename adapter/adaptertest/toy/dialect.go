// Package toy is a whole dialect in as few lines as one can have: a face, a backend, and an agent that speaks it. It
// shows what a further dialect is made of, and tests prove with it that one needs nothing but its folder and a line in
// a table. Only tests mount it. It has every field of adapter.Dialect that a dialect with clients and agents fills, and
// Dialect says why the others are left out.
//
// Its protocol has two routes. GET /toy answers "toy". POST /toy/say takes words as text. Headers say more:
//
//   - Toy-Talk names the conversation that the words belong to, none a new one. Toy-Name is a name of the client's own
//     in its place.
//   - Toy-Once names the request: one that was made before is answered as before, and nothing is done again.
//   - Toy-Task names a task that has not ended, to which the words are added.
//   - Toy-Hook is a URL that is told the end of the run: its talk, a blank and its status.
//   - Toy-Notify adds a hook to the task and may be repeated: an id, a URL, a token and the statuses that the URL is
//     told, between blanks.
//
// The answer has the headers Toy-Talk and Toy-Task and a line for each output of the task as it is made, a JSON string
// after "- ". Then comes a line ".", or "?" if the last output is a question, or a JSON string after "! " if it went
// wrong. An agent asks with a JSON string after "? ".
//
// A server of several toys also has routes for each of them. POST /toys/{agent}/say is /toy/say for that one. GET
// /toys/{agent}/card answers its name, and needs no key. /toys/{agent}/hooks/{task} are the hooks of a task: GET answers
// a line for each, POST adds one, written as Toy-Notify, and DELETE …/{hook} removes one.
package toy

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// flavour is the only one, and say the only kind of request.
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

// Dialect returns both sides of the toy. It leaves out Aliases, as nobody types another name. Of the face it leaves out
// Runs, as no path names a run; Store, as none is of the long-term store; Chooses, as most clients get the default
// agent; ArtifactPath, as it serves no files; Temporary, as it writes none. Of the backend it leaves out Ends: a toy's
// routes begin at the root of its URL.
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

// hook writes what a Toy-Hook is told of a run and a Toy-Notify of a task.
func hook(n adapter.HookNotice) (adapter.HookPost, error) {
	if n.Hook.ID == "" {
		body, err := json.Marshal(n.Run.ThreadID + " " + string(n.Outcome.Status))
		return adapter.HookPost{Body: body}, err
	}
	said := fmt.Sprintf("%s %s %s\n", n.Hook.ID, n.Run.TaskID, n.Status)
	return adapter.HookPost{Header: map[string]string{"Content-Type": "text/plain", "Toy-Token": n.Hook.Token}, Body: []byte(said)}, nil
}

// capabilities: the toy takes words, among which the bridge writes what else it tells an opaque agent. What is not
// named is dropped.
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
