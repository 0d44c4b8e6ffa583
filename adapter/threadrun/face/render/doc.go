// Package render writes the responses to clients of threads and runs: objects, frames of streams, and the body of a
// webhook. Package face calls it, and package threadrun uses WebhookBody and Observe. It reads no requests and calls no
// services. Start reading at View (frames.go) and Thread (objects.go).
package render
