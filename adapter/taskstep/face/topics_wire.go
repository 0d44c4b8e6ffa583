package face

import (
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// topicObject writes a Topic: the entity of the Topic RFC, with the fields of this bridge's completion of it.
func (l layout) topicObject(w *rawjson.Writer, t *rule.Topic) {
	w.Open('{').Key("topic_id").Text(t.ID).Key("name")
	writeNullable(w, t.Name)
	w.Key("additional_input").Raw(t.AdditionalInput, "{}").Key("status").Text(string(t.Status))
	w.Key("memory").Raw(t.Memory, "{}").Key("artifacts")
	l.artifacts(w, t.Artifacts)
	writeTime(w, "created_at", t.CreatedAt)
	writeTime(w, "modified_at", t.UpdatedAt)
	w.Close('}')
}

// interaction writes an Interaction: input is what was said to the agent, output what the agent said.
func (l layout) interaction(w *rawjson.Writer, i *rule.Interaction) {
	w.Open('{').Key("interaction_id").Text(i.ID).Key("topic_id").Text(i.TopicID)
	w.Key("task_id").OrNull(i.TaskID).Key("role").Text(string(i.Role)).Key("input")
	writeNullable(w, i.Input)
	w.Key("additional_input").Raw(i.AdditionalInput, "{}").Key("output")
	writeNullable(w, i.Output)
	w.Key("additional_output").Raw(i.AdditionalOutput, "null").Key("artifacts")
	l.artifacts(w, i.Artifacts)
	writeTime(w, "created_at", i.CreatedAt)
	w.Close('}')
}
