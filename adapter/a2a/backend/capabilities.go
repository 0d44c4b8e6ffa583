package backend

import "github.com/apbridge/apbridge/mapping"

// Capabilities returns what an A2A agent supports.
func Capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.CapInput: mapping.Partial("The text of the last human message becomes the text of an A2A message, and its files become file parts. " +
			"Other keys are kept only in the state."),
		mapping.CapMessages: mapping.Full("The text of the last human message becomes the text of an A2A message. The agent remembers earlier ones."),
		mapping.CapLinks:    mapping.Full("A link in the last human message becomes a url part. The bridge does not download the file."),
		mapping.CapData:     mapping.Full("Becomes a data part."),
		mapping.CapParts:    mapping.None("Content other than text and files, such as a model's reasoning, and files that artifacts.exclude names are kept only in the state."),
		mapping.CapSpeaker:  mapping.None("Kept only in the state. A2A messages have no names of people."),
		mapping.CapRemarks:  mapping.None("Kept only in the state."),
		mapping.CapWords:    mapping.PassedOn(),
		mapping.CapTranscript: mapping.Partial("An agent remembers its own context. The bridge passes on the conversation if the agent has none, " +
			"without the oldest messages if it is longer than memory.max_bytes."),
		mapping.CapItems:          mapping.Partial("Store items beyond memory.max_bytes are left out, oldest first."),
		mapping.CapCommand:        mapping.Partial("A resume value becomes the next message of the task."),
		mapping.CapAnswer:         mapping.Full("Texts are passed as text and other answers as a data part."),
		mapping.CapAnswerFiles:    mapping.Full("Become parts of the message."),
		mapping.CapUpdate:         mapping.None("Refused with 422. Use POST /threads/{thread_id}/state to change the state that the bridge keeps for the agent."),
		mapping.CapGoto:           mapping.None("Refused with 422, except for __end__, which drops the question. An A2A agent has no nodes to go to."),
		mapping.CapConfig:         mapping.Partial("configurable fills memory templates. The agent does not receive it."),
		mapping.CapRecursionLimit: mapping.None("An A2A agent decides itself how long it works."),
		mapping.CapConfigurable:   mapping.Partial("Fills memory templates. The agent does not receive it."),
		mapping.CapTags:           mapping.None("A2A tasks have no tags. They are stored with the run only."),
		mapping.CapContext:        mapping.None("A2A tasks have no context values. They are stored with the run only."),
		mapping.CapSubgraphs:      mapping.None("An A2A agent has no subgraphs."),
		mapping.CapStopBefore:     mapping.None("An A2A agent has no nodes to stop at."),
		mapping.CapStopAfter:      mapping.None("An A2A agent has no nodes to stop at."),
		mapping.CapStreamModes:    mapping.Full("Every mode is supported. Text of an artifact that grows arrives as tokens, a whole artifact as one message chunk."),
		mapping.CapFork:           mapping.Full("The bridge forks the state and passes it to a new context."),
		mapping.CapState:          mapping.Full("Merged into the state that the bridge keeps for the agent."),
		mapping.CapAuthor:         mapping.Partial("Stored as the checkpoint's author. An A2A agent has only one node."),
		mapping.CapTask:           mapping.PassedOn(),
		mapping.CapTaskExtra:      mapping.Full("Becomes the metadata of the request."),
		mapping.CapStep:           mapping.PassedOn(),
		mapping.CapStepExtra:      mapping.Partial("Stored with the step. The agent does not receive it."),
		mapping.CapFile:           mapping.PassedOn(),
	}
}
