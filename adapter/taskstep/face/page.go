package face

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"go.uber.org/zap"
)

// Bounds of a page. In the document the default is 10 items and there is no upper bound. AutoGPT's web app requests
// 10,000 at a time.
const (
	defaultPageSize = 10
	maxPageSize     = 10000
	maxPage         = 1<<31 - 1
)

// pageOf reads current_page and page_size, both from 1. A page has at most maxPageSize items. The page_size of the
// response shows if that is less than requested.
func pageOf(r *http.Request) (adapter.Page, error) {
	p := adapter.Page{Number: 1, Size: defaultPageSize}
	if r.URL.RawQuery == "" {
		return p, nil
	}
	q, err := queryOf(r)
	if err != nil {
		return p, err
	}
	if p.Number, err = intParam(q, "current_page", p.Number, maxPage); err != nil {
		return p, err
	}
	p.Size, err = intParam(q, "page_size", p.Size, maxPage)
	p.Size = min(p.Size, maxPageSize)
	return p, err
}

func queryOf(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("The query string cannot be read: write it as name=value pairs, percent-encoded.")
	}
	return q, nil
}

func intParam(q url.Values, name string, absent, most int) (int, error) {
	if !q.Has(name) {
		return absent, nil
	}
	if len(q[name]) > 1 {
		return 0, invalid("query", name, "given once")
	}
	n, ok := parseCount(q.Get(name))
	if !ok || n < 1 || n > most {
		return 0, invalid("query", name, "a whole number from 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// parseCount reads a decimal number of at most 10 digits, without sign or space.
func parseCount(s string) (int, bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// pageCount returns the number of pages for total items.
func pageCount(total, size int) int { return (total + size - 1) / size }

// list responds with a page of the items that read returns. A page after the last one is empty. An error after the
// first byte closes the connection, so that the client does not mistake the part that was sent for the whole.
func list[T any](s *server, w http.ResponseWriter, r *http.Request, name string, read func(context.Context, adapter.Page) (iter.Seq2[T, error], int, error), write func(*rawjson.Writer, *T)) error {
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	items, total, err := read(r.Context(), page)
	if err != nil {
		return err
	}
	began, err := writePage(w, name, items, write, page, total)
	if err == nil || !began {
		return err
	}
	if r.Context().Err() == nil {
		s.face.Log.Error("response interrupted", zap.String("route", routeOf(r)), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

// short adapts a list in memory to the results of a read function.
func short[T any](items []T, total int, err error) (iter.Seq2[T, error], int, error) {
	return adapter.List(items), total, err
}

// writePage responds with {name: [items], "pagination": {…}}. A long list is sent in pieces to save memory. A short one
// has a Content-Length. It returns an error from items, but no error if the client is gone.
func writePage[T any](w http.ResponseWriter, name string, items iter.Seq2[T, error], write func(*rawjson.Writer, *T), p adapter.Page, total int) (began bool, err error) {
	out := new(rawjson.Writer).Open('{').Key(name).Open('[')
	for item, err := range items {
		if err != nil {
			return began, err
		}
		if write(out, &item); len(out.Bytes) < pieceSize {
			continue
		}
		if !began {
			began = true
			w.Header().Set("Content-Type", jsonAnswer)
			w.WriteHeader(http.StatusOK)
		}
		last := len(out.Bytes) - 1 // keep the last byte, which shows that the next item needs a comma
		if writePieces(w, out.Bytes[:last]) != nil {
			return began, nil
		}
		out.Bytes = append(out.Bytes[:0], out.Bytes[last])
	}
	writePagination(out.Close(']'), p, total)
	if out.Close('}'); !began {
		_ = send(w, http.StatusOK, out.Bytes)
		return false, nil
	}
	_ = writePieces(w, out.Bytes)
	return true, nil
}
