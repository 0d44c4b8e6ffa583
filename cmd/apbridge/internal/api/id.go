package api

import (
	"context"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// idLength is the length of an id, a UUID.
const idLength = 36

// pageOfIDs is the page size when searching for an id.
const pageOfIDs = 100

// IsPrefix reports whether a word may be a proper prefix of an id.
func IsPrefix(word string) bool {
	return word != "" && len(word) < idLength && strings.Trim(strings.ToLower(word), "0123456789abcdef-") == ""
}

// Prefix is the beginning of ids. The bridge's ids begin with a time, so lists need not be read to the end.
type Prefix string

// earliest returns the time of the first id that may begin with p, minus a minute, because the clocks of bridges
// differ.
func (p Prefix) earliest() time.Time {
	digits := (strings.ReplaceAll(string(p), "-", "") + "000000000000")[:12]
	var ms int64
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return time.Time{}
	}
	for _, b := range raw {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).Add(-time.Minute)
}

// RunIDs returns the ids of the newest runs that begin with p, at most two.
func (c *Client) RunIDs(ctx context.Context, p Prefix) (ids []string, err error) {
	f := RunFilter{Limit: pageOfIDs}
	for len(ids) < 2 {
		list, err := c.Runs(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if strings.HasPrefix(r.ID, string(p)) && len(ids) < 2 {
				ids = append(ids, r.ID)
			}
		}
		f.Offset += len(list)
		if len(list) < pageOfIDs || list[len(list)-1].Created.Before(p.earliest()) {
			break
		}
	}
	return ids, nil
}

// ThreadIDs returns the ids of threads that begin with p, at most two.
func (c *Client) ThreadIDs(ctx context.Context, p Prefix) (ids []string, err error) {
	f := ThreadFilter{Limit: 10 * pageOfIDs, Sort: "thread_id", Select: []string{"thread_id"}}
	for len(ids) < 2 {
		var list []Thread
		if _, err := c.call(ctx, http.MethodPost, "/threads/search", f, &list); err != nil {
			return nil, err
		}
		for _, t := range list {
			if strings.HasPrefix(t.ID, string(p)) && len(ids) < 2 {
				ids = append(ids, t.ID)
			}
		}
		f.Offset += len(list)
		if len(list) < f.Limit || list[len(list)-1].ID < string(p) { // the list is sorted by descending id
			break
		}
	}
	return ids, nil
}
