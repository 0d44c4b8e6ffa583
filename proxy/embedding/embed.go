package embedding

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// shortest is where a text that is refused is not cut any further, in bytes.
const shortest = 256

// probe is a text that every model takes: if it is refused, the fault is not the text's.
const probe = "hello"

// roomSteps is how many requests in a row have to succeed until a request is as large again as BatchBytes allows, after
// small ones alone had succeeded.
const roomSteps = 32

// Documents returns the vectors of texts, in their order, up to the first text that gets none. refused is why the
// endpoint does not take that text, be it cut to a line, while it takes others. err is why the endpoint takes no text
// at all. None of the texts may be blank.
//
// A request that fails is sent again with half of its texts, whatever the reason, until it is known which text it was.
// The requests after it are small at first, since the endpoint may be slow. Neither error quotes a text.
func (c *Client) Documents(ctx context.Context, texts []string) (vectors [][]float32, refused, err error) {
	up := false // the endpoint took another text right before
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
			return vectors, withoutWords(err), nil // the endpoint does not survive it
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

// nextBatch returns the first texts as one request sends them, and their size. One text is sent however long it is.
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

// shrink makes the next requests half as large as one that failed.
func (c *Client) shrink(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room = size / 2
}

// grow makes the next requests larger, up to what is configured.
func (c *Client) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := int(c.cfg.BatchBytes)
	c.room = min(most, c.room+max(1, most/roomSteps))
}

// down asks for the vector of the probe and returns why the endpoint takes no text; nil: it does. failure, the reason
// for the question or nil, is what is returned, with the endpoint's words about the probe in the place of those about
// other texts, which may quote them.
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

// wasDown reports whether the endpoint took no text when it was asked last.
func (c *Client) wasDown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failing
}

// shorten finds a beginning of a text that the model takes. failure is why it does not take the whole.
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

// tooLong reports whether a failure may be that of the length of a text: it was refused, it took too long, or the model
// made no numbers of it. Servers answer 500 where they cannot write those.
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
