package backend

import "github.com/apbridge/apbridge/mapping"

const noNodesToStopAt = "The bridge stops before proposed commands or after steps; other node names are refused with 422."

// Capabilities returns what a task/step agent can be told.
func Capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.MeansInput: mapping.Exactly("The text of the last human message is the task's input, earlier messages stand in the transcript, " +
			"files (in messages, too) are uploaded, further keys go into additional_input.input."),
		mapping.MeansMessages: mapping.Exactly("The text of the last human message is the task's input, earlier ones stand in the transcript, " +
			"files in them are uploaded."),
		mapping.MeansLinks:   mapping.Roughly("A file that a message only links to is told by its address: the bridge fetches none."),
		mapping.MeansParts:   mapping.Drops("What is neither text nor a file, such as a model's reasoning, or a file that artifacts.exclude names, stays in the state alone."),
		mapping.MeansSpeaker: mapping.Drops("A transcript says User of every person; the name stays in the state."),
		mapping.MeansRemarks: mapping.Drops("It stays in the state: a task is made of words and files."),
		mapping.MeansWords:   mapping.PassedOn(),
		mapping.MeansTranscript: mapping.Roughly("A conversation longer than memory.max_bytes loses its oldest messages, memory.history may keep them from the agent, " +
			"and what stands beside a message that only says yes to an approval is not told."),
		mapping.MeansItems:          mapping.Roughly("Items of the store beyond memory.max_bytes are left out, the oldest first."),
		mapping.MeansCommand:        mapping.Roughly("Resume values become a step's words or the consent to go on."),
		mapping.MeansAnswer:         mapping.Roughly("A step takes words: structured answers become text."),
		mapping.MeansUpdate:         mapping.Drops("Refused with 422: POST /threads/{thread_id}/state changes the state that the bridge keeps for the agent."),
		mapping.MeansGoto:           mapping.Drops("Refused with 422, but for the end, which drops the question: a task/step agent shows no nodes to go to."),
		mapping.MeansConfig:         mapping.Roughly("The recursion limit caps the steps and configurable fills memory templates; the agent itself is not told."),
		mapping.MeansRecursionLimit: mapping.Roughly("It caps the number of steps. Where the assistant or the agent's max_steps sets a smaller limit, that one does."),
		mapping.MeansConfigurable:   mapping.Roughly("It fills memory templates; the agent itself is not told."),
		mapping.MeansTags:           mapping.Drops("Tasks have no tags; they are kept with the run only."),
		mapping.MeansContext:        mapping.Drops("Tasks have no context; it is kept with the run only."),
		mapping.MeansStreamModes:    mapping.Exactly("Every mode is served; an agent without tokens gives one message chunk a step."),
		mapping.MeansSubgraphs:      mapping.Drops("A task/step agent has no subgraphs."),
		mapping.MeansStopBefore:     mapping.Roughly(noNodesToStopAt),
		mapping.MeansStopAfter:      mapping.Roughly(noNodesToStopAt),
		mapping.MeansFork:           mapping.Exactly("The state is forked in the bridge and told to a new task."),
		mapping.MeansState:          mapping.Exactly("They are merged into the state that the bridge keeps for the agent."),
		mapping.MeansAuthor:         mapping.Roughly("It is kept as the author of the checkpoint; there is one node."),
		mapping.MeansTask:           mapping.PassedOn(),
		mapping.MeansTaskExtra:      mapping.PassedOn(),
		mapping.MeansStep:           mapping.PassedOn(),
		mapping.MeansStepExtra:      mapping.Roughly("It is passed on where the step is executed for this request; else it is kept with the step."),
		mapping.MeansFile:           mapping.PassedOn(),
	}
}
