package sse

import (
	"bytes"
	"iter"
	"slices"
)

// frameWords is the overhead of a frame with one data line.
const frameWords = len("event: \ndata: \nid: \n\n")

// AppendFrame appends one frame to dst: event, data and id on separate lines, followed by an empty line. An empty event
// or id is omitted. Without an id, a reader keeps the last one.
//
// data should be JSON on one line. Each line break in it starts another data line; a reader joins the lines with LF.
// Line breaks and NUL in event or id cannot be represented and are omitted.
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

// AppendPieces is like AppendFrame, but takes data in parts so that callers need not join them. size is their total
// length in bytes. No part may end within a line break.
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

// appendData writes one data line, or several if data contains line breaks (LF, CR or CRLF).
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
// It ends with a single line break. If an empty line follows the comment, some widely used readers that have seen an id
// deliver an event without a name or data. All readers ignore a single comment line.
func AppendHeartbeat(dst []byte) []byte { return append(dst, ": heartbeat\n"...) }
