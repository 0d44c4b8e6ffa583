package sse

import (
	"bytes"
	"iter"
	"slices"
)

// frameWords is what a frame of one data line has beside what it carries.
const frameWords = len("event: \ndata: \nid: \n\n")

// AppendFrame appends one frame to dst: event, data, id, each on a line of its own, and the empty line that ends it. An
// empty event or id leaves its line out; an empty id keeps the reader's last one.
//
// data should be JSON on one line. Line breaks in it are legal and become further data lines, which a reader joins with
// LF again. Line breaks and NUL in event or id cannot be carried and are left out.
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

// AppendPieces is AppendFrame with data in parts, of size bytes together, so that no caller has to join them first. No
// part may end in the middle of a line break.
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

// appendData writes data as one line, or as several where it holds line breaks of any of the three kinds.
func appendData(dst, data []byte) []byte {
	dst = append(dst, "data: "...)
	return append(appendLines(dst, data), '\n')
}

// appendLines writes data, with a new data line at each line break.
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
// It ends in one line break only. A comment and an empty line make some widespread readers deliver an event without
// name and data once they have seen an id; a comment line alone makes no reader do anything.
func AppendHeartbeat(dst []byte) []byte { return append(dst, ": heartbeat\n"...) }
