package sse

import (
	"bytes"
	"iter"
	"slices"
)

// frameWords is the overhead of a frame with one data line.
const frameWords = len("event: \ndata: \nid: \n\n")

// AppendFrame appends one frame to dst: event, data and id, each on its own line, and the empty line that ends it. An
// empty event or id is omitted; without an id, a reader keeps its last one.
//
// data should be JSON on one line. It may contain line breaks, which start further data lines; a reader joins them with
// LF. Line breaks and NUL in event or id cannot be represented and are omitted.
func AppendFrame(dst []byte, event string, data []byte, id string) []byte {
	dst = slices.Grow(dst, len(event)+len(data)+len(id)+frameWords)
	if event != "" {
		dst = appendField(dst, "event: ", event)
	}
	dst = appendData(dst, data)
	if id != "" {
		dst = appendField(dst, "id: ", id)
	}
	return append(dst, '\n')
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	for i := 0; i < len(value); i++ {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// AppendPieces is AppendFrame with data in parts of size bytes in total, so that callers need not join them. No part
// may end within a line break.
func AppendPieces(dst []byte, event string, size int, data iter.Seq[[]byte], id string) []byte {
	dst = slices.Grow(dst, len(event)+size+len(id)+frameWords)
	if event != "" {
		dst = appendField(dst, "event: ", event)
	}
	dst = append(dst, "data: "...)
	for piece := range data {
		dst = appendLines(dst, piece)
	}
	dst = append(dst, '\n')
	if id != "" {
		dst = appendField(dst, "id: ", id)
	}
	return append(dst, '\n')
}

// appendData writes data as one line, or as several if it contains line breaks of any of the three kinds.
func appendData(dst, data []byte) []byte {
	dst = append(dst, "data: "...)
	return append(appendLines(dst, data), '\n')
}

// appendLines writes data and starts a new data line at each line break.
func appendLines(dst, data []byte) []byte {
	for {
		i := bytes.IndexAny(data, "\r\n")
		if i < 0 {
			return append(dst, data...)
		}
		dst = append(append(dst, data[:i]...), "\ndata: "...)
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}

// AppendHeartbeat appends a comment that keeps a connection open.
//
// It ends with only one line break. After a comment with an empty line, some widespread readers that have seen an id
// deliver an event without name and data; all readers ignore a single comment line.
func AppendHeartbeat(dst []byte) []byte { return append(dst, ": heartbeat\n"...) }
