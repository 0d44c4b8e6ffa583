// Package face serves clients of the LangChain Agent Protocol and of LangGraph Server. Its only source is
// adapter.Service. Package threadrun mounts it. It keeps no state and calls no agent.
//
// Start reading at the table of routes in routes.go. The handlers are methods of server, in one file for each kind of
// object. A request for a run is read in runrequest.go and started in runs.go (startRun); wait.go and stream.go send
// its result. Package request reads bodies and queries, package render writes objects and stream frames.
package face
