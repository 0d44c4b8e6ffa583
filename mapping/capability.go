package mapping

import "strings"

// Capability is a kind of information that a request can pass to an agent, in the terms of the model. A face maps each
// of its fields to one; a backend declares its support for each.
type Capability string

const (
	CapInput          Capability = "input"           // the input object of a run
	CapMessages       Capability = "messages"        // messages of the conversation, as a list
	CapLinks          Capability = "links"           // files that messages reference by URL
	CapParts          Capability = "parts"           // content of messages other than text and files
	CapData           Capability = "data"            // JSON data in messages
	CapSpeaker        Capability = "speaker"         // the names of people in messages
	CapRemarks        Capability = "remarks"         // the metadata of messages
	CapWords          Capability = "words"           // one message of the conversation, as a text
	CapTranscript     Capability = "transcript"      // the conversation so far
	CapItems          Capability = "items"           // items of the long-term store for the run
	CapCommand        Capability = "command"         // the command of a run, as a whole
	CapAnswer         Capability = "answer"          // the answer to a question, in any form
	CapAnswerFiles    Capability = "answer files"    // files and links in a message that answers a question
	CapUpdate         Capability = "update"          // a change of the state at the beginning of a run
	CapGoto           Capability = "goto"            // the nodes at which a run begins
	CapConfig         Capability = "config"          // the settings of a run, as a whole
	CapRecursionLimit Capability = "recursion limit" // the maximum number of steps of a run
	CapConfigurable   Capability = "configurable"    // settings that the agent itself defines
	CapTags           Capability = "tags"            // labels of a run
	CapContext        Capability = "context"         // read-only values for a run
	CapStreamModes    Capability = "stream modes"    // the selection of streamed data
	CapSubgraphs      Capability = "subgraphs"       // streaming of inner graphs
	CapStopBefore     Capability = "stop before"     // nodes before which a run stops
	CapStopAfter      Capability = "stop after"      // nodes after which a run stops
	CapFork           Capability = "fork"            // the checkpoint at which a run begins
	CapState          Capability = "state"           // a change of a thread's state between runs
	CapAuthor         Capability = "author"          // the node that is named as the author of such a change
	CapTask           Capability = "task"            // the input of a task
	CapTaskExtra      Capability = "additional task" // data for a task in addition to its input
	CapStep           Capability = "step"            // the input of a step
	CapStepExtra      Capability = "additional step" // data for a step in addition to its input
	CapFile           Capability = "file"            // the bytes of a file
)

// Support is the degree to which an agent supports a Capability.
type Support struct {
	Fate   Fate
	Reason string // a sentence for display
}

// Full returns the support for a capability that reaches the agent unchanged.
func Full(reason string) Support { return Support{Exact, reason} }

// Partial returns the support for a capability that reaches the agent only approximately.
func Partial(reason string) Support { return Support{Approximated, reason} }

// None returns the support for a capability that does not reach the agent.
func None(reason string) Support { return Support{Dropped, reason} }

// PassedOn is Full with the usual reason.
func PassedOn() Support { return Full("Passed to the agent unchanged.") }

// Capabilities lists what agents of a dialect support. A capability that is not listed is not supported.
type Capabilities map[Capability]Support

func (c Capabilities) handle(m Capability) Support {
	if h, ok := c[m]; ok {
		return h
	}
	return None("The agent's protocol has no equivalent.")
}

// RequestField is a documented field of a dialect's requests.
type RequestField struct {
	Request    string // kind of request: run, task, step, thread, …
	Name       string // nested names are joined by dots: config.tags
	Capability Capability
	Fixed      Support // for a field without a Capability; the same for every agent
}

// Fields returns fields of one kind of request that share a capability.
func Fields(request string, m Capability, names ...string) []RequestField {
	return fieldsOf(RequestField{Request: request, Capability: m}, names)
}

// BridgedFields returns fields that the bridge handles itself for every agent.
func BridgedFields(request string, names ...string) []RequestField {
	return FixedFields(request, Full("The bridge does this itself, for every agent."), names...)
}

// FixedFields returns fields whose support does not depend on the agent.
func FixedFields(request string, h Support, names ...string) []RequestField {
	return fieldsOf(RequestField{Request: request, Fixed: h}, names)
}

func fieldsOf(like RequestField, names []string) []RequestField {
	list := make([]RequestField, len(names))
	for i, name := range names {
		list[i], list[i].Name = like, name
	}
	return list
}

// FieldFor returns the first documented field of a kind of request with a capability. If no document names one, it
// returns a field with the name of the capability, so that every loss has a name.
func FieldFor(documented []RequestField, request string, m Capability) RequestField {
	for _, f := range documented {
		if f.Request == request && f.Capability == m {
			return f
		}
	}
	return RequestField{Request: request, Name: strings.ReplaceAll(string(m), " ", "_"), Capability: m}
}

// For returns the support for the field by an agent with these capabilities.
func (f *RequestField) For(agent Capabilities) Support {
	if f.Capability == "" {
		return f.Fixed
	}
	return agent.handle(f.Capability)
}
