// Package face answers clients of the LangChain Agent Protocol and of LangGraph Server, from adapter.Service alone. The
// dialect of package threadrun mounts it. It keeps no state and calls no agent.
//
// routes.go is the table of routes. A request for a run is read in runrequest.go and started in runs.go (start); what
// follows has a file by its route: wait.go, stream.go. Package request has what bodies are read with, package render
// writes replies and stream frames. Start reading at endpoints.
package face
