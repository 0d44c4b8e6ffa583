// Package sse reads and writes event streams (HTML Standard, section 9.2 "Server-sent events") for faces, backends and
// the commands that read streams. It does not interpret frames. Start reading at Stream and Reader.
package sse
