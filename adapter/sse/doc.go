// Package sse reads and writes event streams (HTML Standard, section 9.2 "Server-sent events") for faces, backends and
// the commands that read streams. It knows nothing of the meaning of frames. Start reading at Stream and Reader.
package sse
