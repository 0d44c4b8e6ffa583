package backend

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter/upstream"
)

const (
	maxPages = 500
	pageSize = 100
)

func pathEscape(id string) string { return url.PathEscape(id) }

// list reads a whole list. The first request has no query, because the JavaScript SDK refuses parameters that it does
// not know. It reads pages only if the first response was incomplete. Some servers ignore the page number and would
// return the first page forever, so a page without new entries ends the walk. whole is false if some entries could not
// be read. errNoList means that the agent has no such list.
func (s *runState) list(path, key string) (elems []json.RawMessage, whole bool, err error) {
	page, err := s.page(path, key, "")
	if err != nil || !page.more() {
		return page.Elems, err == nil, err
	}
	got := newPages(page.Elems)
	for _, query := range pageQueries {
		if whole, err = s.walk(path, key, query, got); err != nil {
			return nil, false, err
		}
		if page.Total >= 0 {
			whole = len(got.elems) >= page.Total
		} else if len(got.elems) == len(page.Elems) {
			whole = false // the agent announced more pages but did not return them
		}
		if whole {
			break
		}
	}
	return got.elems, whole, nil
}

// pageQueries are the two ways to request a page: that of the v1 document and that of forge.
var pageQueries = []func(n int) string{
	func(n int) string { return "current_page=" + strconv.Itoa(n) + "&page_size=" + strconv.Itoa(pageSize) },
	func(n int) string {
		return "page=" + strconv.Itoa(n) + "&pageSize=" + strconv.Itoa(pageSize) + "&page_size=" + strconv.Itoa(pageSize)
	},
}

// walk requests pages until one has no new entries. done is false if the server does not support this query, or if the
// walk did not end.
func (s *runState) walk(path, key string, query func(int) string, got *pages) (done bool, err error) {
	for n := 1; n <= maxPages; n++ {
		page, err := s.page(path, key, query(n))
		if err == errNoList {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		fresh := got.add(page.Elems)
		whole := page.Total >= 0 && len(got.elems) >= page.Total
		if fresh == 0 && n > 1 || whole || len(page.Elems) == 0 {
			return true, nil
		}
	}
	return false, nil
}

func (s *runState) page(path, key, query string) (remoteList, error) {
	ans, err := s.get(s.ctx, path, query)
	if err != nil {
		return remoteList{}, err
	}
	if ans.Status/100 != 2 {
		if strings.HasSuffix(path, "/steps") && notThere(ans) {
			// The task may exist without such a list.
			if known, err := s.known(); err == nil && !known {
				return remoteList{}, s.lost(s.remote)
			}
		}
		return remoteList{}, errNoList
	}
	list, err := parseList(ans.Body, key)
	if err != nil {
		return remoteList{}, s.unreadable("GET "+key, ans, err)
	}
	return list, nil
}

// pages holds the entries of several pages, without duplicates.
type pages struct {
	elems []json.RawMessage
	known map[string]bool
}

func newPages(elems []json.RawMessage) *pages {
	p := &pages{known: map[string]bool{}}
	p.add(elems)
	return p
}

// add returns the number of new entries.
func (p *pages) add(elems []json.RawMessage) int {
	before := len(p.elems)
	for _, elem := range elems {
		id := entryID(elem)
		if !p.known[id] {
			p.known[id] = true
			p.elems = append(p.elems, elem)
		}
	}
	return len(p.elems) - before
}

// entryID returns the id of an entry of any list, or its bytes if it has none.
func entryID(elem json.RawMessage) string {
	var env struct {
		Step     json.RawMessage `json:"step_id"`
		Artifact json.RawMessage `json:"artifact_id"`
		Task     json.RawMessage `json:"task_id"`
	}
	if object(elem, "", &env) != nil {
		return string(elem)
	}
	for _, id := range []json.RawMessage{env.Step, env.Artifact, env.Task} {
		if len(value(id)) > 0 {
			return string(id)
		}
	}
	return string(elem)
}

// notThere reports whether the response to a list request means that the task is unknown.
func notThere(ans *upstream.Answer) bool {
	return ans.Status == http.StatusNotFound || ans.Status >= 400 && notFound.Match(ans.Body)
}

// listArtifacts reads the artifacts of the task. If the server has no such list, the task itself may hold them.
func (s *runState) listArtifacts() ([]remoteArtifact, error) {
	elems, _, err := s.list(s.taskPath("/artifacts"), "artifacts")
	if err == nil {
		return artifactsOf(elems, "artifacts")
	}
	if !errors.Is(err, errNoList) {
		return nil, err
	}
	ans, err := s.get(s.ctx, s.taskPath(""), "")
	if err != nil {
		return nil, err
	}
	if ans.Status/100 != 2 {
		return nil, errNoList
	}
	t, err := parseTask(ans.Body, "")
	return t.Artifacts, err
}
