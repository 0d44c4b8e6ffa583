package mapping

import "strings"

// Meaning is what a field of a request tells an agent, in the terms of the model. A face gives each of its fields one;
// a backend says how it carries each.
type Meaning string

const (
	MeansInput          Meaning = "input"           // the input object of a run
	MeansMessages       Meaning = "messages"        // messages of the conversation, as a list
	MeansLinks          Meaning = "links"           // files that messages name without holding them
	MeansParts          Meaning = "parts"           // what messages hold besides text and files
	MeansSpeaker        Meaning = "speaker"         // the names that people go by in messages
	MeansRemarks        Meaning = "remarks"         // what messages say of themselves
	MeansWords          Meaning = "words"           // one message of the conversation, as a text
	MeansTranscript     Meaning = "transcript"      // the conversation so far
	MeansItems          Meaning = "items"           // what the long-term store has for the run
	MeansCommand        Meaning = "command"         // how a run goes on, as a whole
	MeansAnswer         Meaning = "answer"          // the answer to a question, in any form
	MeansUpdate         Meaning = "update"          // a change of the state with which a run begins
	MeansGoto           Meaning = "goto"            // the nodes that a run begins at
	MeansConfig         Meaning = "config"          // the settings of a run, as a whole
	MeansRecursionLimit Meaning = "recursion limit" // the most steps of a run
	MeansConfigurable   Meaning = "configurable"    // settings that the agent itself defines
	MeansTags           Meaning = "tags"            // labels of a run
	MeansContext        Meaning = "context"         // what a run may read and never changes
	MeansStreamModes    Meaning = "stream modes"    // what of a run is streamed
	MeansSubgraphs      Meaning = "subgraphs"       // that graphs within the graph are streamed, too
	MeansStopBefore     Meaning = "stop before"     // nodes before which a run stops
	MeansStopAfter      Meaning = "stop after"      // nodes after which a run stops
	MeansFork           Meaning = "fork"            // the checkpoint that a run begins at
	MeansState          Meaning = "state"           // a change of a thread's state between runs
	MeansAuthor         Meaning = "author"          // the node that such a change is said to come from
	MeansTask           Meaning = "task"            // the words that a task begins with
	MeansTaskExtra      Meaning = "additional task" // what a task is given besides its words
	MeansStep           Meaning = "step"            // the words that a step is asked for with
	MeansStepExtra      Meaning = "additional step" // what a step is given besides its words
	MeansFile           Meaning = "file"            // the bytes of a file
)

// Meanings of what the bridge does itself, in front of any agent. No agent is told of them; they are there for
// messages, which name them in the words of each dialect (Names).
const (
	MeansStrategy  Meaning = "strategy"  // what becomes of a run on a busy thread
	MeansExisting  Meaning = "existing"  // that what is there already is answered instead of refused
	MeansAssistant Meaning = "assistant" // that an assistant is made
)

// Handling is what becomes of a Meaning on its way to an agent.
type Handling struct {
	Fate   Fate
	Reason string // for people: a sentence
}

// Exactly returns the handling of a meaning that the agent is told as it was said. The reason is for people.
func Exactly(reason string) Handling { return Handling{Exact, reason} }

// Roughly returns the handling of a meaning that the agent is told only approximately.
func Roughly(reason string) Handling { return Handling{Approximated, reason} }

// Drops returns the handling of a meaning that the agent is not told.
func Drops(reason string) Handling { return Handling{Dropped, reason} }

// PassedOn returns the handling of what the agent is given as it came.
func PassedOn() Handling { return Exactly("It is passed on to the agent.") }

// Capabilities are what agents of a dialect can be told. A meaning that is not named is dropped.
type Capabilities map[Meaning]Handling

func (c Capabilities) handle(m Meaning) Handling {
	if h, ok := c[m]; ok {
		return h
	}
	return Drops("The agent's protocol has no word for it.")
}

// RequestField is a documented field of a dialect's requests.
type RequestField struct {
	Request string // kind of request: run, task, step, thread, …
	Name    string // nested ones by dots: config.tags
	Meaning Meaning
	Settled Handling // of a field without a Meaning: the agent has no part in it
}

// Fields returns fields of a kind of request with the same meaning.
func Fields(request string, m Meaning, names ...string) []RequestField {
	return fieldsOf(RequestField{Request: request, Meaning: m}, names)
}

// BridgedFields returns fields that the bridge serves itself, with any agent.
func BridgedFields(request string, names ...string) []RequestField {
	return SettledFields(request, Exactly("The bridge does this itself, in front of any agent."), names...)
}

// SettledFields returns fields with one fixed handling, whatever the agent can be told.
func SettledFields(request string, h Handling, names ...string) []RequestField {
	return fieldsOf(RequestField{Request: request, Settled: h}, names)
}

func fieldsOf(like RequestField, names []string) []RequestField {
	list := make([]RequestField, len(names))
	for i, name := range names {
		list[i], list[i].Name = like, name
	}
	return list
}

// FieldFor is the first documented field of a kind of request with a meaning. Where no document names one, it is a
// field with the name of the meaning itself, so that no loss stays without a name.
func FieldFor(documented []RequestField, request string, m Meaning) RequestField {
	for _, f := range documented {
		if f.Request == request && f.Meaning == m {
			return f
		}
	}
	return RequestField{Request: request, Name: strings.ReplaceAll(string(m), " ", "_"), Meaning: m}
}

// For returns what becomes of the field in front of an agent that can be told so much.
func (f *RequestField) For(agent Capabilities) Handling {
	if f.Meaning == "" {
		return f.Settled
	}
	return agent.handle(f.Meaning)
}
