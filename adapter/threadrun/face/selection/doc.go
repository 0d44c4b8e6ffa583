// Package selection implements the options select and extract of LangGraph's SDKs, which request parts of a response.
// Package face calls it. It calls no services. Start reading at Set, State and Extract.
package selection
