package embedding

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// shortest is the length in bytes below which a refused text is not shortened further.
const shortest = 256

// probe is a text that every model accepts. If it is refused, the text was not the cause.
const probe = "hello"

// roomSteps is the number of successful requests in a row after which a request may be as large as BatchBytes again, if
// only small ones had succeeded before.
const roomSteps = 32

// Documents returns the vectors of texts, in order, up to the first text without one. refused is the reason why the
// endpoint does not accept that text, even shortened to a line, although it accepts others. err is the reason why the
// endpoint accepts no text at all. No text may be blank.
//
// A failed request is repeated with half of its texts, for any reason, until the text is found. The next requests start
// small, since the endpoint may be slow. Neither error quotes a text.
func (c *Client) Documents(ctx context.Context, texts []string) (vectors [][]float32, refused, err error) {
	up := false // the endpoint has just accepted another text
	if c.wasDown() {
		if err := c.down(ctx, nil, tries); err != nil {
			return nil, nil, err
		}
		up = true
	}
	for len(vectors) < len(texts) {
		batch, size := c.nextBatch(texts[len(vectors):])
		list, err := c.ask(ctx, batch, tries)
		if err == nil {
			vectors, up = append(vectors, list...), true
			c.grow()
			continue
		}
		c.shrink(size)
		down := c.down(ctx, err, tries)
		switch {
		case ctx.Err() != nil:
			return vectors, nil, ctx.Err()
		case down != nil && up && len(batch) == 1:
			return vectors, withoutWords(err), nil // the text crashes the endpoint
		case down != nil:
			return vectors, nil, down
		case len(batch) == 1:
			v, err := c.shorten(ctx, batch[0], err, tries)
			if err != nil {
				return vectors, withoutWords(err), nil
			}
			vectors = append(vectors, v)
		}
		up = true
	}
	return vectors, nil, nil
}

// nextBatch returns the first texts for one request, and their size. A single text may have any length.
func (c *Client) nextBatch(texts []string) (batch []string, size int) {
	c.mu.Lock()
	room := c.room
	c.mu.Unlock()
	for len(batch) < len(texts) && len(batch) < c.cfg.Batch {
		text := c.cfg.DocumentPrefix + texts[len(batch)]
		if len(batch) > 0 && size+len(text) > room {
			break
		}
		batch, size = append(batch, text), size+len(text)
	}
	return batch, size
}

// shrink sets the size of the next requests to half of that of a failed one.
func (c *Client) shrink(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room = size / 2
}

// grow increases the size of the next requests, up to the configured one.
func (c *Client) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := int(c.cfg.BatchBytes)
	c.room = min(most, c.room+max(1, most/roomSteps))
}

// down sends the probe. It returns the reason why the endpoint accepts no text, or nil if it does accept text. If
// failure, the reason for the probe, is not nil, it is returned with the endpoint's text about the probe, because the
// text of failure may quote other texts.
func (c *Client) down(ctx context.Context, failure error, tries int) error {
	_, err := c.ask(ctx, []string{probe}, tries)
	if ctx.Err() == nil {
		c.mu.Lock()
		c.failing = err != nil
		c.mu.Unlock()
	}
	if err == nil || failure == nil {
		return err
	}
	return withWords(failure, err)
}

// wasDown reports whether the newest probe failed.
func (c *Client) wasDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failing
}

// shorten finds a beginning of a text that the model accepts. failure is the reason why it does not accept the whole.
func (c *Client) shorten(ctx context.Context, text string, failure error, tries int) ([]float32, error) {
	for len(text) > shortest && tooLong(failure) {
		text = strings.ToValidUTF8(text[:len(text)/2], "")
		list, err := c.ask(ctx, []string{text}, tries)
		if err == nil {
			return list[0], nil
		}
		failure = err
	}
	return nil, failure
}

// tooLong reports whether the length of a text may have caused a failure: it was refused, it took too long, or the
// model returned no numbers. Servers respond with 500 if they cannot encode such a result.
func tooLong(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	switch f.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return f.empty || f.late
}
