package backend

import "github.com/apbridge/apbridge/mapping"

// Capabilities returns what a thread/run agent supports.
func Capabilities() mapping.Capabilities {
	c := mapping.Capabilities{
		mapping.CapMessages:       mapping.Full("Become the messages of the input."),
		mapping.CapData:           mapping.Partial("Becomes a text block with the JSON."),
		mapping.CapWords:          mapping.Full("Becomes a human message."),
		mapping.CapTranscript:     mapping.Full("The agent keeps the conversation itself."),
		mapping.CapItems:          mapping.Partial("Store items beyond memory.max_bytes are left out, oldest first."),
		mapping.CapRecursionLimit: mapping.Partial("Passed to the agent. A smaller limit of the assistant or the agent's max_steps takes precedence."),
		mapping.CapFork:           mapping.Full("The thread is forked in the bridge and, if possible, in the agent."),
		mapping.CapState:          mapping.Full("Sent through the agent's own reducers, or used to start a new thread at the agent."),
		mapping.CapTask:           mapping.Full("Becomes the human message of the first run."),
		mapping.CapTaskExtra:      mapping.Partial("Its members input, config, configurable and assistant_id are used. Other members are stored as metadata."),
		mapping.CapStep:           mapping.Partial("Answers a question or starts a follow-up run. A running graph accepts no input."),
		mapping.CapStepExtra:      mapping.Partial("Its resume member answers a question. Other members are stored with the step."),
		mapping.CapAnswerFiles:    mapping.None("A graph is resumed with the text or the data of the answer. Files and links stay in the history of the task."),
		mapping.CapFile:           mapping.Partial("Becomes a file in the state. A large file becomes a reference."),
	}
	for _, m := range []mapping.Capability{
		mapping.CapInput, mapping.CapLinks, mapping.CapParts, mapping.CapSpeaker, mapping.CapRemarks, mapping.CapCommand, mapping.CapAnswer, mapping.CapUpdate, mapping.CapGoto, mapping.CapConfig,
		mapping.CapConfigurable, mapping.CapTags, mapping.CapContext, mapping.CapStreamModes,
		mapping.CapSubgraphs, mapping.CapStopBefore, mapping.CapStopAfter, mapping.CapAuthor,
	} {
		c[m] = mapping.PassedOn()
	}
	return c
}
