package backend

import "github.com/apbridge/apbridge/mapping"

// Capabilities returns what a thread/run agent can be told.
func Capabilities() mapping.Capabilities {
	c := mapping.Capabilities{
		mapping.CapMessages:       mapping.Full("They become messages of the input."),
		mapping.CapWords:          mapping.Full("It is a human message."),
		mapping.CapTranscript:     mapping.Full("The agent keeps the conversation itself."),
		mapping.CapItems:          mapping.Partial("Items of the store beyond memory.max_bytes are left out, the oldest first."),
		mapping.CapRecursionLimit: mapping.Partial("It is passed on. Where the assistant or the agent's max_steps sets a smaller limit, that one is."),
		mapping.CapFork:           mapping.Full("The thread is forked in the bridge and, where it can be, in the agent."),
		mapping.CapState:          mapping.Full("They are sent through the agent's own reducers, or seed a fresh thread of it."),
		mapping.CapTask:           mapping.Full("It is the human message of the first run."),
		mapping.CapTaskExtra:      mapping.Partial("Its input, config, configurable and assistant_id are used; the rest is kept as metadata."),
		mapping.CapStep:           mapping.Partial("It answers a question or starts a follow-up run; a running graph takes no words in between."),
		mapping.CapStepExtra:      mapping.Partial("Its resume is the answer to a question; the rest is kept with the step."),
		mapping.CapFile:           mapping.Partial("It becomes a file of the state; a large one becomes a reference."),
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
