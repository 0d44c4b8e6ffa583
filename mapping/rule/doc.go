// Package rule carries one side of the mapping into the other. Its files are named by the rows of the mapping table in
// package mapping:
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
// Faces, backends, the inspector, the service, stepping, the engine and the store call it. The rules are pure: no I/O,
// no clock, the same result for the same log in each process.
//
// # Steps
//
// A root update is one step. StepFolder says which is the last, and holds each until that is sure.
//
// # How a task/step agent looks
//
//   - One node, StepNode: in next, tasks, updates, the metadata of messages and the graph. A graph is asked for before
//     a run, when the names of steps are not known, so only a fixed name agrees everywhere. A step's own name is the
//     name of its message.
//   - Commands (AutoGPT): the message of a step says thoughts.speak, and what it asks. The proposed command is its tool
//     call, whose id is the step's. The next step's last_action is the tool message before its own. finish is no tool
//     call: it has no result, and its reason is the text of the last step. An answer or feedback of a person is a
//     message of theirs, so the tool message only says that there was one. The agent's whole output stays in
//     additional_kwargs.apbridge and in the log: task/step clients get it as it came.
//   - Chunks: with messages-tuple a message is a chunk with its text, two for each tool call, and an empty one that
//     closes it.
//   - A failure is a message, written with the end of the run, marked by additional_kwargs.apbridge.error with the
//     run's id. It is no step, and no part of the conversation that agents are told. A failed attempt that is tried
//     again leaves none.
//
// # Conversations
//
// An input of messages is told to a task/step agent as one conversation. The state, with the input merged into it by
// id, is parted into the request (the input's last human message) and all others, which are the transcript
// (PartConversation). A run without an input has the state's last message for a request if a person said it. Commands
// stand in the transcript as [Called …] after what the agent said, and their results as lines of Tool. Files in
// messages become artifacts with the input's event; the engine finds them again by name and bytes.
//
// # Questions and answers
//
// A question of a task/step agent is one object with the keys of both generations of pages, and it says what may answer
// it. An answer is read with its question: to ask_user any plain value is words, since "yes" may be what the agent
// wants to know; to a request for approval "yes" and its kin are consent. null, "" and an empty list are neither and
// are refused, except for the body-less step of a task/step client, which says nothing to the agent either. A refusal
// (422, or 409 where no run waits) names the pending ids and what can be sent.
//
// With most pages the chat box is a person's only field. So a message answers ask_user (agents.NAME.answer_by_message)
// and stays the message that it is, with its id and files, which the agent is given before the step and told by name. A
// file or a link without a word is an answer, too: its name is the words. Messages beside the answer that the thread
// lacks are told before it, except results of the open call, which are the question (BesideAnswer). Consent alone
// leaves no room for them, which X-Apbridge-Unsupported says. An approval is never given in passing: such a message
// begins a new task, as in LangGraph, unless it comes as run.start of the streaming protocol, which answers whatever is
// open.
//
// Questions of a graph pass as they are. Answers to them are checked for their ids and against response_schema:
// LangGraph's servers drop an unknown id without a word, and the graph fails on a wrong value. command.goto: "__end__"
// is the one goto in front of a task/step agent: it drops the question in a run without a step, and input beside it is
// refused. A run without any input goes on after a stop that its client asked for itself (interrupt_before), as in
// LangGraph. Any other goto is the graph's business; LangGraph in JavaScript takes __end__ at a question and asks
// again.
package rule
