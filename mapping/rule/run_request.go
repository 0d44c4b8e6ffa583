package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A run stores its request as one object (mapping.Run.Kwargs), with the members of kwargs of LangGraph's Run. The
// request of a task's run also has the task's additional_input. Only the functions of this file read or write them. The
// machine carries the object unchanged.

// The members for the bridge's information to agents about itself and the store: BridgeMember of config.configurable,
// of context and of additional_input, ItemsMember of additional_input. A client's members with these names do not reach
// agents.
const (
	BridgeMember = "apbridge"
	ItemsMember  = "memory"
)

// RequestOf returns the stored request of a run with nothing but an input, which may be nil.
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

// RequestAgain returns a stored request with another input, for a new run, without members that only apply to the first
// one, such as its ids. config and context are those of the request.
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

// WithRun returns the request with the ids of its run in config.configurable, where graphs expect them. If it, its
// config or its configurable is not an object, it returns an *Error of class Invalid.
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

// GivenConfigurable returns the values of a stored request about its user: config.configurable, and the members that
// only its context has, which LangGraph's clients send instead.
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
	name, _ := rawjson.Text(rawjson.Get(metadata, agentMember)) // the client's metadata may have any value there
	return name
}

// TaskExtra has the members of a task's additional_input that apply to runs. Each is nil if absent.
type TaskExtra struct {
	Input, Config, Context json.RawMessage
	Resume                 json.RawMessage
	Strategy               json.RawMessage // see TaskStrategy
}

// ReadTaskExtra reads an additional_input. Anything but an object has none of the members. configurable stands for
// config.configurable, which takes precedence.
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
	if both, err := MergeConfig(base, e.Config); err == nil { // otherwise the config is refused as it is
		e.Config = both
	}
	return e
}

// RequestText returns the text of a stored request for lists: that of its input, else its answer, else "".
func RequestText(request json.RawMessage) string {
	input, messages, err := GivenInput(request)
	if err != nil {
		return ""
	}
	if in, err := ParseInput(input, messages, ""); err == nil && in.HasText {
		return in.Text
	}
	resume := rawjson.Get(rawjson.Get(request, "command"), "resume")
	if text, ok := rawjson.Text(resume); ok || rawjson.IsNull(resume) {
		return text
	}
	return string(resume)
}
