package backend

import "github.com/apbridge/apbridge/mapping"

// Capabilities returns what a thread/run agent can be told.
func Capabilities() mapping.Capabilities {
	c := mapping.Capabilities{
		mapping.MeansMessages:       mapping.Exactly("They become messages of the input."),
		mapping.MeansWords:          mapping.Exactly("It is a human message."),
		mapping.MeansTranscript:     mapping.Exactly("The agent keeps the conversation itself."),
		mapping.MeansItems:          mapping.Roughly("Items of the store beyond memory.max_bytes are left out, the oldest first."),
		mapping.MeansRecursionLimit: mapping.Roughly("It is passed on. Where the assistant or the agent's max_steps sets a smaller limit, that one is."),
		mapping.MeansFork:           mapping.Exactly("The thread is forked in the bridge and, where it can be, in the agent."),
		mapping.MeansState:          mapping.Exactly("They are sent through the agent's own reducers, or seed a fresh thread of it."),
		mapping.MeansTask:           mapping.Exactly("It is the human message of the first run."),
		mapping.MeansTaskExtra:      mapping.Roughly("Its input, config, configurable and assistant_id are used; the rest is kept as metadata."),
		mapping.MeansStep:           mapping.Roughly("It answers a question or starts a follow-up run; a running graph takes no words in between."),
		mapping.MeansStepExtra:      mapping.Roughly("Its resume is the answer to a question; the rest is kept with the step."),
		mapping.MeansFile:           mapping.Roughly("It becomes a file of the state; a large one becomes a reference."),
	}
	for _, m := range []mapping.Meaning{
		mapping.MeansInput, mapping.MeansLinks, mapping.MeansParts, mapping.MeansSpeaker, mapping.MeansRemarks, mapping.MeansCommand, mapping.MeansAnswer, mapping.MeansUpdate, mapping.MeansGoto, mapping.MeansConfig,
		mapping.MeansConfigurable, mapping.MeansTags, mapping.MeansContext, mapping.MeansStreamModes,
		mapping.MeansSubgraphs, mapping.MeansStopBefore, mapping.MeansStopAfter, mapping.MeansAuthor,
	} {
		c[m] = mapping.PassedOn()
	}
	return c
}
