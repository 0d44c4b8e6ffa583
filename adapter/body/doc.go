// Package body reads the bodies of requests for all dialects: of the types that they take, within their limits, as
// strict JSON, as forms of pages or as uploads, with one wording of each complaint. The faces of both dialects, package
// protocol and the inspector call it, and for complaints the guards of package proxy and passthrough. A dialect says
// which content types it takes and what the parts of its uploads are called, and puts a complaint into its own form;
// this package never answers a request.
package body
