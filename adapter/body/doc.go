// Package body reads the bodies of requests for all dialects: within their limits, as
// strict JSON, with one wording of each complaint. A dialect says which content types it
// takes, and puts a complaint into its own form.
package body
