// Package credential removes from texts what grants access, before they are shown, logged or handed on. Set holds the
// credentials that the bridge knows itself, in every spelling. Set.Hide also removes what no Set has to know: tokens of
// runs, values that their names call credentials, passwords of URLs, and texts of the form of a provider's key.
//
// One rule holds everywhere. An error of an agent is hidden where its text enters the bridge (package upstream), so
// clients, webhooks, the inspector, logs and traces get the same text. A copy that is made to be looked at or handed on
// (recordings, exports, calls in the inspector, reports of bench) is hidden as a whole. The work of an agent, such as
// steps, messages and files, belongs to the client and loses the tokens of runs alone.
//
// Package credential imports nothing of ours and never decides where a text may go.
package credential
