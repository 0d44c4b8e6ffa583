// Package face answers clients of the LangChain Agent Protocol and of LangGraph Server, from
// adapter.Service alone. It keeps no state and calls no agent.
//
// wire.go and its neighbours read requests, convert.go writes replies, render.go turns
// events into stream frames. Start reading at Mount.
package face
