package backend

import "github.com/apbridge/apbridge/mapping"

const noNodesToStopAt = "The bridge stops before proposed commands or after steps; other node names are refused with 422."

// Capabilities returns what a task/step agent supports.
func Capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.CapInput: mapping.Full("The text of the last human message becomes the task's input, earlier messages become part of the transcript, " +
			"files (in messages, too) are uploaded, further keys go into additional_input.input."),
		mapping.CapMessages: mapping.Full("The text of the last human message becomes the task's input, earlier ones become part of the transcript, " +
			"files in them are uploaded."),
		mapping.CapLinks:   mapping.Partial("A linked file is passed as its URL. The bridge does not download it."),
		mapping.CapParts:   mapping.None("Content other than text and files, such as a model's reasoning, and files that artifacts.exclude matches are kept only in the state."),
		mapping.CapData:    mapping.Partial("The JSON becomes part of the text."),
		mapping.CapSpeaker: mapping.None("Kept only in the state. The transcript calls every person User."),
		mapping.CapRemarks: mapping.None("Kept only in the state. A task consists of text and files."),
		mapping.CapWords:   mapping.PassedOn(),
		mapping.CapTranscript: mapping.Partial("A conversation longer than memory.max_bytes loses its oldest messages, memory.history may withhold messages from the agent, " +
			"and additions to a message that only approves a command are not passed on."),
		mapping.CapItems:          mapping.Partial("Store items beyond memory.max_bytes are left out, oldest first."),
		mapping.CapCommand:        mapping.Partial("A resume value becomes the input of a step, or the approval to continue."),
		mapping.CapAnswerFiles:    mapping.Full("Files are uploaded before the step with the answer. Links become part of its text."),
		mapping.CapAnswer:         mapping.Partial("A step's input is text, so structured answers are converted to text."),
		mapping.CapUpdate:         mapping.None("Refused with 422. Use POST /threads/{thread_id}/state to change the state that the bridge keeps for the agent."),
		mapping.CapGoto:           mapping.None("Refused with 422, except for __end__, which drops the question. A task/step agent has no nodes to go to."),
		mapping.CapConfig:         mapping.Partial("recursion_limit limits the number of steps and configurable fills memory templates. The agent does not receive them."),
		mapping.CapRecursionLimit: mapping.Partial("Limits the number of steps. A smaller limit of the assistant or the agent's max_steps takes precedence."),
		mapping.CapConfigurable:   mapping.Partial("Fills memory templates. The agent does not receive it."),
		mapping.CapTags:           mapping.None("Tasks have no tags. They are stored with the run only."),
		mapping.CapContext:        mapping.None("Tasks have no context. It is stored with the run only."),
		mapping.CapStreamModes:    mapping.Full("Every mode is supported. An agent that streams no tokens produces one message chunk for each step."),
		mapping.CapSubgraphs:      mapping.None("A task/step agent has no subgraphs."),
		mapping.CapStopBefore:     mapping.Partial(noNodesToStopAt),
		mapping.CapStopAfter:      mapping.Partial(noNodesToStopAt),
		mapping.CapFork:           mapping.Full("The bridge forks the state and passes it to a new task."),
		mapping.CapState:          mapping.Full("Merged into the state that the bridge keeps for the agent."),
		mapping.CapAuthor:         mapping.Partial("Stored as the checkpoint's author. A task/step agent has only one node."),
		mapping.CapTask:           mapping.PassedOn(),
		mapping.CapTaskExtra:      mapping.PassedOn(),
		mapping.CapStep:           mapping.PassedOn(),
		mapping.CapStepExtra:      mapping.Partial("Passed to the agent if this request executes the step, otherwise stored with the step."),
		mapping.CapFile:           mapping.PassedOn(),
	}
}
