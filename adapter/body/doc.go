// Package body reads the bodies of requests for all dialects: within their limits, as strict JSON,
// with one wording of each complaint. The faces of both dialects and package protocol call it. A
// dialect says which content types it takes, and puts a complaint into its own form; this package
// never answers a request.
package body
