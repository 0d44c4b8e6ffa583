// Package face answers clients of the LangChain Agent Protocol and of LangGraph Server, from
// adapter.Service alone. The dialect of package threadrun mounts it. It keeps no state and calls no
// agent.
//
// routes.go is the table of routes, package request reads what is sent, package render
// writes replies and turns events into stream frames. Start reading at Mount.
package face
