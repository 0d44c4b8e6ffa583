package backend

import "github.com/apbridge/apbridge/mapping"

// Capabilities are what a task/step agent can be told.
func Capabilities() mapping.Capabilities {
	return mapping.Capabilities{
		mapping.MeansInput: mapping.Exactly("The text of the last human message is the task's input, files are uploaded, " +
			"further keys go into additional_input.input."),
		mapping.MeansMessages:       mapping.Exactly("The text of the last human message is the task's input, earlier ones stand in the transcript."),
		mapping.MeansWords:          mapping.PassedOn(),
		mapping.MeansTranscript:     mapping.Roughly("A conversation longer than the prompt budget loses its oldest messages."),
		mapping.MeansCommand:        mapping.Roughly("Resume values become a step's words or the consent to go on."),
		mapping.MeansAnswer:         mapping.Roughly("A step takes words: structured answers become text."),
		mapping.MeansUpdate:         mapping.Exactly("It is merged into the state that the bridge keeps for the agent."),
		mapping.MeansGoto:           mapping.Drops("Refused with 422: a task/step agent shows no nodes to go to."),
		mapping.MeansConfig:         mapping.Roughly("The recursion limit caps the steps and configurable fills memory templates; the agent itself is not told."),
		mapping.MeansRecursionLimit: mapping.Exactly("It caps the number of steps."),
		mapping.MeansConfigurable:   mapping.Roughly("It fills memory templates; the agent itself is not told."),
		mapping.MeansTags:           mapping.Drops("Tasks have no tags; they are kept with the run only."),
		mapping.MeansContext:        mapping.Drops("Tasks have no context; it is kept with the run only."),
		mapping.MeansStreamModes:    mapping.Exactly("Every mode is served; an agent without tokens gives one message chunk a step."),
		mapping.MeansSubgraphs:      mapping.Drops("A task/step agent has no subgraphs."),
		mapping.MeansBreakpoints:    mapping.Roughly("The bridge stops before proposed commands or after steps; other node names are refused with 422."),
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
