// Package face answers clients of the Agent Protocol v1, such as benchmark harnesses, from adapter.Service alone and to
// the letter of the official document. The dialect of package taskstep mounts it. It keeps no state and calls no agent.
// Start reading at Mount.
//
// # What the face adds to the document
//
// The document fixes nine operations; these are ours:
//
//   - POST …/tasks/{task_id}/cancel stops a task and answers 200 with the Task.
//   - GET …/tasks/{task_id}/steps?stream=true is an event stream of the same steps (steps.go).
//   - GET /ap/v1/heartbeat answers in plain text, as AutoGPT does.
//   - created_at and modified_at (RFC 3339, UTC) in tasks, steps and artifacts.
//   - Idempotency-Key on POST …/tasks and …/steps.
//   - ?relative_path= on uploads, as AutoGPT's server takes it.
//   - code and detail beside the message of an error other than 404 and 405.
//
// # What is refused
//
// The document knows 404 and 422. Whatever cannot be read or has a wrong type is 422: bad JSON (duplicate names,
// invalid UTF-8, too deep), a broken multipart body, a page out of range. 405 carries Allow, 409 means that the task's
// thread is busy, 413 that a limit was passed, 415 that a body has another content type than the one of the document.
// additional_input: null is taken as absent, since some clients write all their fields. Unknown fields and query
// parameters, and bodies of GET requests, are ignored.
package face
