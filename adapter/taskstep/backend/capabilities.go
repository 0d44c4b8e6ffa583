package backend

import "github.com/apbridge/apbridge/mapping"

const noNodesToStopAt = "The bridge stops before proposed commands or after steps; other node names are refused with 422."

// Capabilities returns what a task/step agent can be told.
func Capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.CapInput: mapping.Full("The text of the last human message is the task's input, earlier messages stand in the transcript, " +
			"files (in messages, too) are uploaded, further keys go into additional_input.input."),
		mapping.CapMessages: mapping.Full("The text of the last human message is the task's input, earlier ones stand in the transcript, " +
			"files in them are uploaded."),
		mapping.CapLinks:   mapping.Partial("A file that a message only links to is told by its address: the bridge fetches none."),
		mapping.CapParts:   mapping.None("What is neither text nor a file, such as a model's reasoning, or a file that artifacts.exclude names, stays in the state alone."),
		mapping.CapSpeaker: mapping.None("A transcript says User of every person; the name stays in the state."),
		mapping.CapRemarks: mapping.None("It stays in the state: a task is made of words and files."),
		mapping.CapWords:   mapping.PassedOn(),
		mapping.CapTranscript: mapping.Partial("A conversation longer than memory.max_bytes loses its oldest messages, memory.history may keep them from the agent, " +
			"and what stands beside a message that only says yes to an approval is not told."),
		mapping.CapItems:          mapping.Partial("Items of the store beyond memory.max_bytes are left out, the oldest first."),
		mapping.CapCommand:        mapping.Partial("Resume values become a step's words or the consent to go on."),
		mapping.CapAnswer:         mapping.Partial("A step takes words: structured answers become text."),
		mapping.CapUpdate:         mapping.None("Refused with 422: POST /threads/{thread_id}/state changes the state that the bridge keeps for the agent."),
		mapping.CapGoto:           mapping.None("Refused with 422, but for the end, which drops the question: a task/step agent shows no nodes to go to."),
		mapping.CapConfig:         mapping.Partial("The recursion limit caps the steps and configurable fills memory templates; the agent itself is not told."),
		mapping.CapRecursionLimit: mapping.Partial("It caps the number of steps. Where the assistant or the agent's max_steps sets a smaller limit, that one does."),
		mapping.CapConfigurable:   mapping.Partial("It fills memory templates; the agent itself is not told."),
		mapping.CapTags:           mapping.None("Tasks have no tags; they are kept with the run only."),
		mapping.CapContext:        mapping.None("Tasks have no context; it is kept with the run only."),
		mapping.CapStreamModes:    mapping.Full("Every mode is served; an agent without tokens gives one message chunk a step."),
		mapping.CapSubgraphs:      mapping.None("A task/step agent has no subgraphs."),
		mapping.CapStopBefore:     mapping.Partial(noNodesToStopAt),
		mapping.CapStopAfter:      mapping.Partial(noNodesToStopAt),
		mapping.CapFork:           mapping.Full("The state is forked in the bridge and told to a new task."),
		mapping.CapState:          mapping.Full("They are merged into the state that the bridge keeps for the agent."),
		mapping.CapAuthor:         mapping.Partial("It is kept as the author of the checkpoint; there is one node."),
		mapping.CapTask:           mapping.PassedOn(),
		mapping.CapTaskExtra:      mapping.PassedOn(),
		mapping.CapStep:           mapping.PassedOn(),
		mapping.CapStepExtra:      mapping.Partial("It is passed on where the step is executed for this request; else it is kept with the step."),
		mapping.CapFile:           mapping.PassedOn(),
	}
}
