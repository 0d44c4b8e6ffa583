// Package rule carries one side of the mapping into the other. Its files are named by the
// rows of the mapping table in package mapping:
//
//	run ↔ task            run_input, run_config, run_prompt
//	event ↔ step          step_folder (numbers, is_last), node_delta, step_update, step_output, step_files
//	question ↔ answer     question, answer
//	thread ↔ topic        thread_topic, topic_dialogue, topic_place, topic_interactions
//	file ↔ artifact       file_artifact, file_path, file_skipped
//	item, memory          item_filter, item_text, memory
//	message               message, message_list
//	state of LangGraph    langgraph_task
//
// Faces, backends, the service and the engine call it. The rules are pure: no I/O, no clock,
// the same result for the same log in each process.
package rule
