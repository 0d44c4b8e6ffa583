package passthrough

import (
	"context"
	"mime"
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

func uncounted(context.Context) (func(), error) { return func() {}, nil }

// counted counts the call as a stream, once.
func (p *Proxy) counted(c *call) error {
	if c.stream {
		return nil
	}
	done, err := p.open(c.ctx)
	if err == nil {
		c.stream, c.done = true, done
	}
	return err
}
