package mapping

// lossGroup are fields of one kind of request with the same fate.
type lossGroup struct {
	request, from           string
	fields                  []string
	toTaskstep, toThreadrun outcome
}

type outcome struct {
	fate   Fate
	reason string
}

func exactly(reason string) outcome { return outcome{Exact, reason} }
func roughly(reason string) outcome { return outcome{Approximated, reason} }
func dropped(reason string) outcome { return outcome{Dropped, reason} }

var (
	bridged  = exactly("The bridge does this itself, in front of any agent.")
	passedOn = exactly("It is passed on to the agent.")
	noHint   = dropped("It is a hint that cannot change the result; it is accepted and not used.")
)

func same(was outcome, request, from string, fields ...string) lossGroup {
	return lossGroup{request, from, fields, was, was}
}

// lossGroups holds the request fields of the Agent Protocol's REST document
// (RunCreate, ThreadCreate, ThreadPatch, the searches, the store), those that
// LangGraph's SDKs add, those of the task/step document (TaskRequestBody,
// StepRequestBody, ArtifactUpload) and those of its topics.
func lossGroups() []lossGroup {
	return append(append(runLosses(), stateLosses()...), taskLosses()...)
}

func runLosses() []lossGroup {
	const run, from = "run", threadrun
	return []lossGroup{
		same(bridged, run, from, "assistant_id", "agent_id", "thread_id", "metadata", "webhook", "multitask_strategy",
			"on_completion", "on_disconnect", "after_seconds", "if_not_exists", "stream_resumable", "strict_resume"),
		{run, from, []string{"input"},
			exactly("The text of the last human message is the task's input, files are uploaded, further keys go into additional_input.input."), passedOn},
		{run, from, []string{"messages"},
			exactly("The text of the last human message is the task's input, earlier ones stand in the transcript."),
			exactly("They become messages of the input.")},
		{run, from, []string{"command"},
			roughly("Resume values become a step's words or the consent to go on."), passedOn},
		{run, from, []string{"command.resume"},
			roughly("A step takes words: structured answers become text."), passedOn},
		{run, from, []string{"command.update"},
			exactly("It is merged into the state that the bridge keeps for the agent."), passedOn},
		{run, from, []string{"command.goto"},
			dropped("Refused with 422: a task/step agent shows no nodes to go to."), passedOn},
		{run, from, []string{"config"},
			roughly("The recursion limit caps the steps and configurable fills memory templates; the agent itself is not told."), passedOn},
		{run, from, []string{"config.recursion_limit"},
			exactly("It caps the number of steps."), passedOn},
		{run, from, []string{"config.configurable"},
			roughly("It fills memory templates; the agent itself is not told."), passedOn},
		{run, from, []string{"config.tags"},
			dropped("Tasks have no tags; they are kept with the run only."), passedOn},
		{run, from, []string{"context"},
			dropped("Tasks have no context; it is kept with the run only."), passedOn},
		{run, from, []string{"stream_mode"},
			exactly("Every mode is served; an agent without tokens gives one message chunk a step."), passedOn},
		{run, from, []string{"stream_subgraphs"},
			dropped("A task/step agent has no subgraphs."), passedOn},
		{run, from, []string{"interrupt_before", "interrupt_after"},
			roughly("The bridge stops before proposed commands or after steps; other node names are refused with 422."), passedOn},
		{run, from, []string{"checkpoint", "checkpoint_id"},
			exactly("The state is forked in the bridge and told to a new task."),
			exactly("The thread is forked in the bridge and, where it can be, in the agent.")},
		same(noHint, run, from, "durability", "checkpoint_during", "feedback_keys", "langsmith_tracer"),
		{run, from, []string{LossTranscript},
			roughly("A conversation longer than the prompt budget loses its oldest messages."),
			exactly("The agent keeps the conversation itself.")},
	}
}

func stateLosses() []lossGroup {
	const from = threadrun
	return []lossGroup{
		same(bridged, "thread", from, "thread_id", "metadata", "if_exists", "ttl", "supersteps"),
		{"thread patch", from, []string{"values", "messages"},
			exactly("They are merged into the state that the bridge keeps for the agent."),
			exactly("They are sent through the agent's own reducers, or seed a fresh thread of it.")},
		same(bridged, "thread patch", from, "metadata", "checkpoint", "ttl"),
		{"state update", from, []string{"values"},
			exactly("They are merged into the state that the bridge keeps for the agent."),
			exactly("They are sent through the agent's own reducers, or seed a fresh thread of it.")},
		{"state update", from, []string{"as_node"},
			roughly("It is kept as the author of the checkpoint; there is one node."), passedOn},
		same(bridged, "state update", from, "checkpoint", "checkpoint_id"),
		same(bridged, "search", from, "metadata", "values", "ids", "status", "name", "graph_id", "agent_id", "thread_id",
			"limit", "offset", "sort_by", "sort_order", "select", "extract"),
		same(bridged, "assistant", from, "assistant_id", "graph_id", "name", "description", "metadata", "config", "context", "if_exists", "version", "delete_threads"),
		same(bridged, "history", from, "limit", "before", "metadata", "checkpoint"),
		same(bridged, "store", from, "namespace", "key", "value", "index", "ttl", "namespace_prefix", "filter", "query",
			"refresh_ttl", "prefix", "suffix", "max_depth", "limit", "offset"),
		same(bridged, "cancel", from, "wait", "action"),
	}
}

func taskLosses() []lossGroup {
	const from = taskstep
	return []lossGroup{
		{"task", from, []string{"input"}, passedOn, exactly("It is the human message of the first run.")},
		{"task", from, []string{"additional_input"}, passedOn,
			roughly("Its input, config and assistant_id are used; the rest is kept as metadata.")},
		{"task", from, []string{LossTranscript},
			roughly("A conversation longer than the prompt budget loses its oldest messages."),
			exactly("The agent keeps the conversation itself.")},
		{"step", from, []string{"input"}, passedOn,
			roughly("It answers a question or starts a follow-up run; a running graph takes no words in between.")},
		{"step", from, []string{"additional_input"},
			roughly("It is passed on where the step is executed for this request; else it is kept with the step."),
			roughly("Its resume is the answer to a question; the rest is kept with the step.")},
		{"artifact", from, []string{"file"}, passedOn,
			roughly("It becomes a file of the state; a large one becomes a reference.")},
		same(exactly("It is the folder or path of the artifact."), "artifact", from, "relative_path"),
		same(bridged, "topic", from, "name", "additional_input"),
		{"interaction", from, []string{"input"}, passedOn, exactly("It is a human message.")},
		same(bridged, "interaction", from, "role", "additional_input"),
		same(bridged, "list", from, "current_page", "page_size"),
	}
}
