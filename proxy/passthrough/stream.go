package passthrough

import (
	"mime"

	"github.com/apbridge/apbridge/adapter"
)

const eventStream = "text/event-stream"

// isStream reports whether a response of this type is a stream of events or of JSON lines.
func isStream(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch kind {
	case eventStream, "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq":
		return true
	}
	return false
}

// count counts the call as a stream of its caller (adapter.OpenStream), once.
func (c *call) count() error {
	if c.stream {
		return nil
	}
	done, err := adapter.OpenStream(c.ctx)
	if err == nil {
		c.stream, c.done = true, done
	}
	return err
}
