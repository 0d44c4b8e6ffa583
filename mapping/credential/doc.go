// Package credential removes credentials from texts before they are shown, logged or passed on. Set holds the
// credentials that the bridge knows, in every spelling. Set.Hide also removes others: tokens of runs, values with the
// names of credentials, passwords of URLs, and texts in the form of a provider's key. Start reading at Set.
//
// The rule is the same everywhere. An agent's error is cleaned when its text enters the bridge (package upstream), so
// clients, webhooks, the inspector, logs and traces have the same text. A copy for inspection or for others
// (recordings, exports, calls in the inspector, reports of bench) is cleaned as a whole. An agent's output, such as
// steps, messages and files, belongs to the client. Only tokens of runs are removed from it.
//
// Package credential imports nothing of ours and never decides whether a text may be passed on.
package credential
