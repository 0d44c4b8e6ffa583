// Package credential takes out of texts what grants access, before they are shown, logged or handed on: known
// credentials in every spelling (Set), tokens of runs, and what a text itself calls a credential. Whatever calls
// others, and whatever shows what they said, uses it. It imports nothing of ours and never decides where a text may go.
package credential
