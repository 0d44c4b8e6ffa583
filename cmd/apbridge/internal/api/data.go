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

// Owner identifies the owner of data. A nil Tenant means the tenant of the key.
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

// Held describes the data of an owner in the bridge. Whole is the complete JSON.
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

// Held requests a description of an owner's data.
func (c *Client) Held(ctx context.Context, who Owner) (h Held, err error) {
	if _, err = c.call(ctx, http.MethodGet, "/data?"+who.query().Encode(), nil, &h.Whole); err != nil {
		return h, err
	}
	if err := json.Unmarshal(h.Whole, &h); err != nil {
		return h, c.unread(ctx, err)
	}
	return h, nil
}

// ExportData writes all data of an owner as a tar archive.
func (c *Client) ExportData(ctx context.Context, who Owner, to io.Writer) error {
	return c.Download(ctx, "/data/export?"+who.query().Encode(), to)
}

// Removal has the options of a removal. See DELETE /data in the bridge's OpenAPI document.
type Removal struct{ LeaveCopies, KeepFile bool }

// Removed is the result for one object.
type Removed struct {
	Outcome string `json:"outcome"` // removed, kept or failed
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Count   int    `json:"count,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Thread  string `json:"thread_id,omitempty"`
	Why     string `json:"why,omitempty"`
}

// ErrEndedEarly is the error of an incomplete removal.
var ErrEndedEarly = errors.New("the removal ended early; run the same command again to remove the rest")

// RemoveData removes an owner's data and calls told with the result for each object as it arrives. It stops when ctx
// ends.
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
