// Package selection implements the options select and extract of LangGraph's SDKs, by which a client requests parts of
// a response. Package face calls it. It calls no service. Start reading at Set, State and Extract.
package selection
