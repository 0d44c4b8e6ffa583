// Package sse reads and writes event streams (HTML Standard, section 9.2 "Server-sent events"), for faces, backends and
// the commands that read streams. It is a leaf: it knows frames, not what they mean.
package sse
