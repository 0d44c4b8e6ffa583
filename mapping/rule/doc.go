// Package rule translates between the two sides of the model. Its files are named after the rows of the mapping table
// in package mapping:
//
//	run ↔ task            run_input, run_config, run_prompt, run_conversation
//	event ↔ step          step_folder (numbers, is_last), node_delta, step_{update,command,output,files}
//	question ↔ answer     question, answer_*
//	thread ↔ topic        thread_topic, topic_dialogue, topic_place, topic_interactions
//	file ↔ artifact       file_{artifact,path,skipped}, attachment
//	item, memory          memory
//	message               message_*, fault_message
//	state of LangGraph    langgraph_task
//
// Faces, backends, the inspector, the service, stepping, the engine and the store use it. The rules are pure. They do
// no I/O, read no clock, and yield the same result for the same log in every process. Start reading at StepFolder,
// ParseInput and ParseAnswer.
//
// # Steps
//
// A root update is one step. StepFolder decides which step is the last. It holds each step until that is certain.
//
// # How a task/step agent is presented
//
//   - One node, StepNode: in next, tasks, updates, the metadata of messages and the graph. A graph is requested before
//     a run, when the names of steps are unknown, so only a fixed name is the same everywhere. A step's own name is
//     the name of its message.
//   - Commands (AutoGPT): the message of a step contains thoughts.speak and the question. The proposed command is its
//     tool call, whose id is the step's. The next step's last_action is the tool message before its own. finish is not
//     a tool call: it has no result, and its reason is the text of the last step. A person's answer or feedback is a
//     separate message, so the tool message only notes that there was one. The agent's whole output stays in
//     additional_kwargs.apbridge and in the log, where task/step clients get it unchanged.
//   - Chunks: with messages-tuple a message is a chunk with its text, two for each tool call, and an empty one at its
//     end.
//   - A failure is a message, written with the end of the run and marked by additional_kwargs.apbridge.error with the
//     run's id. It is not a step, and not part of the conversation that agents receive. A failed attempt that is
//     retried leaves none.
//
// # Conversations
//
// A task/step agent receives an input of messages as one conversation. The input is merged into the state by id.
// PartConversation then splits the messages into the request, which is the input's last human message, and the
// transcript, which is all others. Without an input, the request is the state's last message if a person wrote it. In
// the transcript, commands are written as [Called …] after the agent's text, and their results as lines of Tool. Files
// in messages become artifacts with the input's event. The engine finds them again by name and bytes.
//
// # Questions and answers
//
// A question of a task/step agent is one object with the keys of both generations of pages, and describes the accepted
// answers. The meaning of an answer depends on its question. For ask_user any plain value is text, because "yes" may be
// the answer to the agent's question. For a request for approval, "yes" and similar values are consent. null, "" and an
// empty list are neither and are refused. The exception is a step without a body from a task/step client, for which the
// agent also gets nothing. A refusal (422, or 409 if no run waits) contains the pending ids and the accepted forms.
//
// On most pages the chat box is the only input field. A message therefore answers ask_user
// (agents.NAME.answer_by_message). It stays an ordinary message with its id and files, which the agent receives before
// the step, with their names in the text. A file or a link without text is also an answer, with its name as the text.
// Other messages that the thread lacks are sent before the answer, except results of the open call, which the answer
// replaces (WithoutResultOf). They cannot be sent with an answer that is only consent; X-Apbridge-Unsupported then
// reports them. A message by itself never gives approval. It begins a new task, as in LangGraph, unless it is sent as run.start
// of the streaming protocol, which answers any open question.
//
// Questions of a graph are passed on unchanged. The ids in their answers are checked, and the values are checked
// against response_schema, because LangGraph's servers silently ignore an unknown id and the graph fails on a wrong
// value. The only command.goto for a task/step agent is "__end__". It drops the question in a run without a step, and
// does not allow input. A run without input continues after a stop that its client requested (interrupt_before), as in
// LangGraph. Any other goto is handled by the graph; LangGraph in JavaScript accepts __end__ at a question and asks
// again.
package rule
