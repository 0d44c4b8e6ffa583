package face

import (
	"github.com/apbridge/apbridge/mapping"
)

// topicObject writes a Topic: the entity of the Topic RFC, with the fields of
// this bridge's completion of it.
func (w writer) topicObject(b []byte, t *mapping.Topic) []byte {
	b = append(b, `{"topic_id":`...)
	b = appendString(b, t.ID)
	b = append(b, `,"name":`...)
	b = appendNullable(b, t.Name)
	b = append(b, `,"additional_input":`...)
	b = appendObject(b, t.AdditionalInput)
	b = append(b, `,"status":`...)
	b = appendString(b, string(t.Status))
	b = append(b, `,"memory":`...)
	b = appendObject(b, t.Memory)
	b = append(b, `,"artifacts":`...)
	b = w.artifacts(b, t.Artifacts)
	b = appendTime(b, "created_at", t.CreatedAt)
	b = appendTime(b, "modified_at", t.UpdatedAt)
	return append(b, '}')
}

// interaction writes an Interaction: input is what was said to the agent,
// output what the agent said.
func (w writer) interaction(b []byte, i *mapping.Interaction) []byte {
	b = append(b, `{"interaction_id":`...)
	b = appendString(b, i.ID)
	b = append(b, `,"topic_id":`...)
	b = appendString(b, i.TopicID)
	b = append(b, `,"task_id":`...)
	if i.TaskID == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, i.TaskID)
	}
	b = append(b, `,"role":`...)
	b = appendString(b, string(i.Role))
	b = append(b, `,"input":`...)
	b = appendNullable(b, i.Input)
	b = append(b, `,"additional_input":`...)
	b = appendObject(b, i.AdditionalInput)
	b = append(b, `,"output":`...)
	b = appendNullable(b, i.Output)
	b = append(b, `,"additional_output":`...)
	b = appendRaw(b, i.AdditionalOutput, "null")
	b = append(b, `,"artifacts":`...)
	b = w.artifacts(b, i.Artifacts)
	b = appendTime(b, "created_at", i.CreatedAt)
	return append(b, '}')
}
