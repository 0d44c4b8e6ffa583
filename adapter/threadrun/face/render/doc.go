// Package render writes the responses to clients of threads and runs: objects, frames of streams, and the body of a
// webhook. The face calls it, and the dialect's table names WebhookBody. It reads no request and calls no service.
// Start reading at View (frames.go) and Thread (objects.go).
package render
