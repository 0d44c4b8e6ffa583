// Package face answers clients of the LangChain Agent Protocol and of LangGraph Server, from
// adapter.Service alone. The dialect of package threadrun mounts it. It keeps no state and calls no
// agent.
//
// routes.go is the table of routes, wire.go and its neighbours read requests, package render
// writes replies and turns events into stream frames. Start reading at Mount.
package face
