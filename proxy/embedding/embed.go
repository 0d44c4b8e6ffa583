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

// embed makes the vectors of texts that fit in one request. Where the endpoint takes others and not these, it is asked
// for halves of them, and for a single text by its beginning, until it is known which text is not taken.
func (c *Client) embed(ctx context.Context, texts []string, tries int) ([][]float32, error) {
	list, err := c.ask(ctx, texts, tries)
	if !unfit(err, tries) {
		return list, err
	}
	switch _, failed := c.ask(ctx, []string{probe}, tries); {
	case unfit(failed, tries):
		return nil, err
	case failed != nil:
		return nil, failed
	}
	return c.part(ctx, texts, tries)
}

// part is embed of texts of which one at least is not taken.
func (c *Client) part(ctx context.Context, texts []string, tries int) (all [][]float32, err error) {
	if len(texts) == 1 {
		return c.shorten(ctx, texts[0], tries)
	}
	for _, half := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		list, err := c.ask(ctx, half, tries)
		if unfit(err, tries) {
			list, err = c.part(ctx, half, tries)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// shorten finds a beginning of a text that the model takes.
func (c *Client) shorten(ctx context.Context, text string, tries int) ([][]float32, error) {
	for len(text) > shortest {
		text = strings.ToValidUTF8(text[:len(text)/2], "")
		if list, err := c.ask(ctx, []string{text}, tries); !unfit(err, tries) {
			return list, err
		}
	}
	return [][]float32{nil}, nil
}

// unfit reports whether a failure may be that of what was sent: too much or too long, or a text of which a model makes
// no numbers. Servers answer 500 where they cannot write those; after one try that says nothing yet.
func unfit(err error, tries int) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	switch f.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError:
		return tries > 1
	}
	return f.empty
}
