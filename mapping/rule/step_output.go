package rule

import (
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// nodeUpdate is an `updates` chunk of a thread/run agent: the deltas of the nodes that ran together.
type nodeUpdate struct {
	nodes  []string
	deltas []rawjson.Object
	raw    []json.RawMessage // for deltas that are not objects
}

func readUpdate(ev *mapping.Event) nodeUpdate {
	var u nodeUpdate
	for _, part := range NodeDeltas(ev.Head.Node, ev.Data) {
		if part.Node != "__start__" {
			u.add(part.Node, part.Delta)
		}
	}
	return u
}

func (u *nodeUpdate) add(node string, delta json.RawMessage) {
	var o rawjson.Object
	delta = rawjson.Trim(delta)
	if rawjson.Kind(delta) == '{' {
		_ = o.PutAll(delta)
	}
	if o.Len() == 0 && (rawjson.IsNull(delta) || rawjson.Kind(delta) == '{') {
		return
	}
	u.nodes = append(u.nodes, node)
	u.deltas = append(u.deltas, o)
	u.raw = append(u.raw, delta)
}

func (u *nodeUpdate) empty() bool { return len(u.nodes) == 0 }

// text returns the text of the nodes: new ai messages joined by blank lines or, without any, the update as compact JSON
// without the contents of its files. news is called once for the id of every ai message with text.
func (u *nodeUpdate) text(news func(id string) bool) string {
	var texts []string
	for i := range u.deltas {
		list, _ := state.MessagesIn(u.deltas[i].Get(state.KeyMessages))
		for _, m := range list {
			if text := answerIn(m); text != "" && news(state.IDOfMessage(m)) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n\n")
	}
	return string(rawjson.Compact(u.shown()))
}

// answerIn returns the text of an ai message. It returns "" for any other element, and for a message about a failed
// run.
func answerIn(m json.RawMessage) string {
	if rawjson.Kind(m) != '{' || messageKind(m) != typeAI || IsFaultMessage(m) {
		return ""
	}
	return MessageText(m)
}

// shown returns the update of one node, or of several by name. If an update only changes files, their names are
// included.
func (u *nodeUpdate) shown() json.RawMessage {
	if len(u.nodes) == 1 {
		return u.delta(0, true)
	}
	return u.byNode(true)
}

// additional returns {node: delta} without files.
func (u *nodeUpdate) additional() json.RawMessage { return u.byNode(false) }

func (u *nodeUpdate) byNode(names bool) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	for i, node := range u.nodes {
		w.Name(node).Raw(u.delta(i, names), "null")
	}
	return w.Close('}').Bytes
}

// delta returns one node's delta without the contents of its files. If names is set and there is nothing else, the
// names of the files are kept.
func (u *nodeUpdate) delta(i int, names bool) json.RawMessage {
	o := &u.deltas[i]
	if o.Len() == 0 {
		return u.raw[i]
	}
	files := o.Get(state.KeyFiles)
	if files == nil {
		return u.raw[i]
	}
	rest := o.Clone()
	rest.Drop(map[string]bool{state.KeyFiles: true})
	if rest.Len() == 0 && names {
		return rawObject(state.KeyFiles, fileNames(files))
	}
	return rest.JSON()
}

func fileNames(files json.RawMessage) json.RawMessage {
	list, _ := rawjson.Members(files)
	names := make([]json.RawMessage, len(list))
	for i, m := range list {
		names[i] = json.RawMessage(m.Quoted)
	}
	return rawjson.Array(names...)
}

// agentOutput returns the output of a task/step agent's step as text, or nil, and its additional output as an object
// with the agent's own step id.
func agentOutput(ev *mapping.Event) (*string, json.RawMessage) {
	said, additional := StepSaid(ev)
	var output *string
	if !rawjson.IsNull(said) {
		output = ref(outputText(said))
	}
	var o rawjson.Object
	switch {
	case rawjson.Kind(additional) == '{':
		_ = o.PutAll(additional)
	case !rawjson.IsNull(additional):
		o.Put(rawjson.Member{Name: "value", Value: additional})
	}
	if id := ev.Head.Step.ID; id != "" {
		o.Put(rawjson.Member{Name: "upstream_step_id", Value: rawjson.Quote(id)})
	}
	if o.Len() == 0 {
		return output, nil
	}
	return output, o.JSON()
}

func questionTexts(asked []mapping.Interrupt) string {
	texts := make([]string, len(asked))
	for i, in := range asked {
		texts[i] = QuestionText(in.Value)
	}
	return strings.Join(texts, "\n\n")
}

// lastAnswer returns the text of the last ai message of a state.
func lastAnswer(f *state.Fold) string {
	if f == nil {
		return ""
	}
	list := f.Messages()
	for i := len(list) - 1; i >= 0; i-- {
		if rawjson.Kind(list[i]) == '{' && messageKind(list[i]) == typeAI && !SaysOnlySkipped(list[i]) && !IsFaultMessage(list[i]) {
			return MessageText(list[i])
		}
	}
	return ""
}

// endFault returns the reason why a run ended other than with success or a question.
func endFault(o *mapping.Outcome) mapping.Fault {
	switch {
	case o.Cancelled:
		return mapping.Fault{Code: "cancelled", Message: "The run was cancelled."}
	case o.Fault != nil:
		return *o.Fault
	case o.Status == mapping.RunTimeout:
		return mapping.Fault{Code: mapping.CodeRunTimeout, Message: "The run took too long."}
	default:
		return mapping.Fault{Code: mapping.CodeInternal, Message: "The run failed."}
	}
}

// faultOutput returns the additional output of the step that reports why a run ended. skipped is a list of skipped
// files, or nil.
func faultOutput(fault mapping.Fault, skipped json.RawMessage) json.RawMessage {
	w := new(rawjson.Writer).Open('{')
	w.Key("error").Open('{').Key("type").Text(fault.Code).Key("message").Text(fault.Message).Close('}')
	if skipped != nil {
		w.Key(keySkipped).Raw(skipped, "null")
	}
	return w.Close('}').Bytes
}
