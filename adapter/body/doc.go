// Package body reads request bodies for all dialects: JSON, HTML forms and uploads. It checks types and limits and
// returns the errors for clients. The faces of the dialects, package protocol and the inspector use it; the guards of
// package proxy and passthrough use only its errors. A dialect specifies its content types and the part names of its
// uploads, and renders errors in its own format. This package never writes a response. Start reading at JSON and
// OpenForm.
package body
