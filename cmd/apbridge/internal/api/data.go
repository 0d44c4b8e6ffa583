package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Owner names whose data is meant. Tenant is nil for that of the key.
type Owner struct {
	ID     string
	Tenant *string
}

func (o Owner) query() url.Values {
	q := url.Values{"owner": {o.ID}}
	if o.Tenant != nil {
		q.Set("tenant", *o.Tenant)
	}
	return q
}

// Held is what a bridge keeps of an owner. Whole is all that it said.
type Held struct {
	Owner  string
	Tenant string
	Kinds  []struct {
		Kind           string
		Count, Bytes   int64
		Oldest, Newest time.Time
	}
	Copies []struct {
		Agent, Stays string
		Count        int
	}
	Guest []string

	Whole json.RawMessage `json:"-"`
}

// Held reads what the bridge keeps of an owner.
func (c *Client) Held(ctx context.Context, who Owner) (h Held, err error) {
	if _, err = c.call(ctx, http.MethodGet, "/data?"+who.query().Encode(), nil, &h.Whole); err != nil {
		return h, err
	}
	if err := json.Unmarshal(h.Whole, &h); err != nil {
		return h, c.unread(ctx, err)
	}
	return h, nil
}

// ExportData writes all that the bridge keeps of an owner, as a tar archive.
func (c *Client) ExportData(ctx context.Context, who Owner, to io.Writer) error {
	return c.Download(ctx, "/data/export?"+who.query().Encode(), to)
}

// Removal is how data is removed: see DELETE /data in the bridge's documents.
type Removal struct{ LeaveCopies, KeepFile bool }

// Removed is what became of something.
type Removed struct {
	Outcome string `json:"outcome"` // removed, kept or failed
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Count   int    `json:"count,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Thread  string `json:"thread_id,omitempty"`
	Why     string `json:"why,omitempty"`
}

// ErrEndedEarly is the error of a removal that did not come to its end.
var ErrEndedEarly = errors.New("the removal has ended early. What is removed is removed; the same command goes on")

// RemoveData has an owner's data removed, and calls told with what becomes of each thing while it happens. A
// cancellation stops it.
func (c *Client) RemoveData(ctx context.Context, who Owner, how Removal, told func(Removed)) error {
	q := who.query()
	q.Set("leave_copies", strconv.FormatBool(how.LeaveCopies))
	q.Set("keep_file", strconv.FormatBool(how.KeepFile))
	res, err := c.send(ctx, http.MethodDelete, "/data?"+q.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for from := json.NewDecoder(bufio.NewReader(res.Body)); ; {
		var line struct {
			Removed
			End bool
		}
		err := from.Decode(&line)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return ErrEndedEarly
		case line.End:
			return nil
		}
		told(line.Removed)
	}
}
