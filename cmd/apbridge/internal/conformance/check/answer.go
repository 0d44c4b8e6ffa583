package check

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// Answer is a response. Its methods fail the check of its Talk if the response is not as required.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	talk   *Talk
	shown  exchange
}

// In returns the answer for another Talk, whose check then fails.
func (a Answer) In(t *Talk) Answer {
	a.talk = t
	if !t.Over() {
		t.last = a.shown
	}
	return a
}

// Is fails the check unless the answer has one of the statuses.
func (a Answer) Is(status ...int) Answer {
	if a.talk.Over() {
		return a
	}
	var words []string
	for _, s := range status {
		if a.Status == s {
			return a
		}
		words = append(words, fmt.Sprint(s))
	}
	a.talk.Fail("the status is %d, not %s", a.Status, strings.Join(words, " or "))
	return a
}

// Refused fails the check unless the status is 400 to 499.
func (a Answer) Refused() Answer {
	if !a.talk.Over() && a.Status/100 != 4 {
		a.talk.Fail("the status is %d, not one of 400 to 499", a.Status)
	}
	return a
}

// Typed fails the check unless the answer has the media type.
func (a Answer) Typed(media string) Answer {
	if a.talk.Over() {
		return a
	}
	if got, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); got != media {
		a.talk.Fail("the content type is %q, not %s", printable(a.Header.Get("Content-Type")), media)
	}
	return a
}

// Fits fails the check unless the body is JSON of the shape.
func (a Answer) Fits(s Shape) Answer {
	a.talk.Fits(s, a.Value(), "")
	return a
}

// Value decodes the body. It fails the check if the body is not JSON.
func (a Answer) Value() (v any) {
	if a.talk.Over() {
		return nil
	}
	if err := json.Unmarshal(a.Body, &v); err != nil {
		page := ""
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") { // a proxy or a web page
			page = " but an HTML page"
		}
		a.talk.Fail("the response is not JSON%s", page)
	}
	return v
}

// At returns a member, by names joined by dots, or nil.
func (a Answer) At(path string) any { return At(a.Value(), path) }

// Text is At for a string. It returns "" for anything else.
func (a Answer) Text(path string) string {
	return TextAt(a.Value(), path)
}

// ID is Text, but fails the check if the string is missing.
func (a Answer) ID(path string) string {
	s := a.Text(path)
	if s == "" && !a.talk.Over() {
		a.talk.Fail("%s: a string is missing", path)
	}
	return s
}

// List is At for a list. The path "" means the whole body.
func (a Answer) List(path string) []any {
	list, _ := a.At(path).([]any)
	return list
}

// At returns a member, by names joined by dots, or nil. The path "" means the value itself.
func At(v any, path string) any {
	if path == "" {
		return v
	}
	for name := range strings.SplitSeq(path, ".") {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// TextAt is At for a string. It returns "" for anything else.
func TextAt(v any, path string) string {
	s, _ := At(v, path).(string)
	return s
}

// Holds reports whether an object in the list has a member with this text.
func Holds(list []any, member, text string) bool {
	for _, each := range list {
		if At(each, member) == text {
			return true
		}
	}
	return false
}
