// Package face serves clients of the Agent Protocol v1, such as benchmark harnesses, from adapter.Service alone. It
// follows the official document strictly. The dialect of package taskstep mounts it. It keeps no state and calls no
// agent. Start reading at Mount. The handlers are methods of server, in one file per noun.
//
// # Additions to the document
//
// The document defines nine operations. The face adds:
//
//   - POST …/tasks/{task_id}/cancel stops a task and responds 200 with the Task.
//   - GET …/tasks/{task_id}/steps?stream=true is an event stream of the same steps (steps.go).
//   - GET /ap/v1/heartbeat responds with plain text, as AutoGPT does.
//   - created_at and modified_at (RFC 3339, UTC) in tasks, steps and artifacts.
//   - Idempotency-Key on POST …/tasks and …/steps.
//   - ?relative_path= on uploads, as on AutoGPT's server.
//   - code and detail in errors other than 404 and 405, in addition to the message.
//
// # Refused requests
//
// The document has 404 and 422. Requests that cannot be read or have a wrong type are refused with 422. Examples are
// bad JSON (duplicate names, invalid UTF-8, too deep), a broken multipart body, and a page out of range. The face adds
// 405 with Allow, 409 if the task's thread is busy, 413 if a limit is exceeded, and 415 for a content type that the
// document does not have. additional_input may be null, because some clients write all their fields. Unknown fields,
// unknown query parameters and bodies of GET requests are ignored.
package face
