package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A run stores its request as one object (mapping.Run.Kwargs), with the members of kwargs in LangGraph's Run. The
// request of a task's run also has the task's additional_input. Only the functions of this file read or write these
// members. All other code carries the object unchanged.

// The members in which agents receive information about the bridge and the store: BridgeMember in config.configurable,
// context and additional_input, and ItemsMember in additional_input. Members with these names in a client's request do
// not reach agents.
const (
	BridgeMember = "apbridge"
	ItemsMember  = "memory"
)

// RequestOf returns the stored request of a run that only has an input, which may be nil.
func RequestOf(input json.RawMessage) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	if input != nil {
		w.Key("input").Raw(input, "null")
	}
	return w.Close('}').Bytes
}

// RequestOfAnswer returns the stored request of a run with the answer to a question.
func RequestOfAnswer(said json.RawMessage) json.RawMessage {
	return new(rawjson.Writer).Open('{').Key("command").Open('{').Key("resume").Raw(said, "null").Close('}').Close('}').Bytes
}

// RequestAgain returns a stored request with another input, for a new run. Members that only apply to the first run,
// such as its ids, are omitted. config and context are those of the request.
func RequestAgain(kept, input json.RawMessage) (request, config, context json.RawMessage) {
	request, _ = rawjson.Without(kept, "input", "messages", "command", "checkpoint", "checkpoint_id", "config")
	config = rawjson.Get(kept, "config")
	if configurable, err := rawjson.Without(rawjson.Get(config, "configurable"), "thread_id", "run_id", "graph_id", "assistant_id", "checkpoint_id", "checkpoint_ns"); err == nil {
		config, _ = rawjson.WithMember(config, "configurable", configurable)
	}
	var more []rawjson.Member
	if input != nil {
		more = append(more, rawjson.Member{Name: "input", Value: input})
	}
	if config != nil {
		more = append(more, rawjson.Member{Name: "config", Value: config})
	}
	request, _ = rawjson.WithMembers(request, more...)
	return request, config, rawjson.Get(kept, "context")
}

// RequestOfTask returns the stored request of the run that begins a task. The run's own input is in its options.
func RequestOfTask(t *mapping.Task, extra TaskExtra) json.RawMessage {
	out := new(rawjson.Pieces).Literal(`{"additional_input":`).Raw(rawjson.OrEmpty(t.AdditionalInput))
	if len(extra.Config) > 0 {
		out.Literal(`,"config":`).Raw(extra.Config)
	}
	if len(extra.Context) > 0 {
		out.Literal(`,"context":`).Raw(extra.Context)
	}
	if t.HasInput {
		out.Literal(`,"input":`).Text(t.Input)
	}
	return out.Literal("}").Join()
}

// RequestOfStep returns the stored request of the run of a task's later step, with the task's config and context, or
// nil if there are none. additional is the step's additional_input, or nil.
func RequestOfStep(additional json.RawMessage, task TaskExtra) json.RawMessage {
	var set []rawjson.Member
	for _, m := range []rawjson.Member{{Name: "additional_input", Value: additional}, {Name: "config", Value: task.Config}, {Name: "context", Value: task.Context}} {
		if len(m.Value) > 0 {
			set = append(set, m)
		}
	}
	if len(set) == 0 {
		return nil
	}
	request, _ := rawjson.WithMembers(nil, set...)
	return request
}

// WithRun returns the request with the ids of its run in config.configurable, where graphs expect them. If the request,
// its config or its configurable is not an object, it returns an *Error of class Invalid.
func WithRun(request json.RawMessage, r *mapping.Run) (json.RawMessage, error) {
	config, err := rawjson.Lookup(request, "config")
	if err != nil {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request is not a JSON object.")
	}
	given, err := rawjson.Lookup(config, "configurable")
	if err != nil {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "config must be an object.")
	}
	configurable, err := rawjson.PiecesWith(given, runIDs(r)...)
	if err != nil {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "config.configurable must be an object.")
	}
	extended, err := rawjson.PiecesAround(config, "configurable", configurable)
	if err != nil {
		return nil, err
	}
	all, err := rawjson.PiecesAround(request, "config", extended)
	return all.Join(), err
}

// idKeys are the names of runIDs.
var idKeys = []string{"thread_id", "run_id", "graph_id", "assistant_id"}

// runIDs returns the ids that graphs expect in config.configurable.
func runIDs(r *mapping.Run) []rawjson.Member {
	return []rawjson.Member{ // of idKeys
		{Name: "thread_id", Value: rawjson.Quote(r.ThreadID)},
		{Name: "run_id", Value: rawjson.Quote(r.ID)},
		{Name: "graph_id", Value: rawjson.Quote(r.Agent)},
		{Name: "assistant_id", Value: rawjson.Quote(r.AssistantID)},
	}
}

// GivenInput returns the input of a stored request and its messages; each is nil if absent.
func GivenInput(request json.RawMessage) (input, messages json.RawMessage, err error) {
	if input, err = rawjson.Lookup(request, "input"); err != nil {
		return nil, nil, err
	}
	messages, err = rawjson.Lookup(request, "messages")
	return input, messages, err
}

// GivenConfigurable returns config.configurable of a stored request. Members that only its context has are added,
// because newer clients of LangGraph send context instead.
func GivenConfigurable(request json.RawMessage) json.RawMessage {
	configurable := rawjson.Get(rawjson.Get(request, "config"), "configurable")
	if both, err := MergeContext(rawjson.Get(request, "context"), configurable); err == nil {
		return both
	}
	return configurable
}

// agentMember is the member of metadata that names an agent.
const agentMember = "graph_id"

// AgentNamed returns the agent that the metadata of a thread names, as LangGraph's SDKs do, or "".
func AgentNamed(metadata json.RawMessage) string {
	name := rawjson.GetText(metadata, agentMember) // the client's metadata may have any value there
	return name
}

// TaskExtra has the members of a task's additional_input that apply to runs. Each is nil if absent.
type TaskExtra struct {
	Input, Config, Context json.RawMessage
	Resume                 json.RawMessage
	Strategy               json.RawMessage // see TaskStrategy
}

// ReadTaskExtra reads an additional_input. If it is not an object, all members are nil. A member configurable is read
// as config.configurable, but config.configurable itself takes precedence.
func ReadTaskExtra(additional json.RawMessage) (e TaskExtra) {
	var configurable json.RawMessage
	_ = rawjson.EachMember(additional, func(name rawjson.Quoted, value json.RawMessage) {
		switch name.Text() {
		case "input":
			e.Input = value
		case "config":
			e.Config = value
		case "configurable":
			configurable = value
		case "context":
			e.Context = value
		case "resume":
			e.Resume = value
		case "multitask_strategy":
			e.Strategy = value
		}
	})
	if rawjson.Kind(configurable) != '{' {
		return e
	}
	base, _ := rawjson.WithMember(nil, "configurable", configurable)
	if both, err := MergeConfig(base, e.Config); err == nil { // otherwise the config is refused later
		e.Config = both
	}
	return e
}

// RequestText returns the text of a stored request for lists: that of its input, or else its answer, or else "".
func RequestText(stored json.RawMessage) string {
	input, messages, err := GivenInput(stored)
	if err != nil {
		return ""
	}
	if in, err := ParseInput(input, messages, ""); err == nil && in.HasText {
		return in.Text
	}
	resume := rawjson.Get(rawjson.Get(stored, "command"), "resume")
	if text, ok := rawjson.Text(resume); ok || rawjson.IsNull(resume) {
		return text
	}
	switch a, _ := typedAnswer(resume, request{}); {
	case a.form == formConsent:
		return "yes"
	case a.Text != "":
		return a.Text
	}
	return string(resume)
}
