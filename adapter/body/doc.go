// Package body reads the bodies of requests for all dialects: JSON, forms of pages, and uploads. It checks their types
// and limits, and words all complaints. The faces of both dialects, package protocol and the inspector use it; the
// guards of package proxy and passthrough use its complaints. A dialect specifies its content types and the names of
// the parts of its uploads, and puts complaints into its own form. This package never writes a response. Start reading
// at JSON and OpenForm.
package body
