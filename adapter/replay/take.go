package replay

import (
	"strings"

	"github.com/google/uuid"
)

// take is one time that a recording is gone through.
type take struct {
	of    *Recording
	first bool // ids that the agent made are those of the recording
	used  []bool
	names names
}

func newTake(of *Recording, first bool) *take {
	return &take{of: of, first: first, used: make([]bool, len(of.Exchanges)), names: newNames()}
}

// answer is what was recorded for a call: for the first that was not used and does not differ, and else, of what only
// reads, for the newest that was.
func (t *take) answer(now Call) (a Answer, ok bool) {
	e := t.match(now)
	if e == nil {
		return a, false
	}
	a = e.Answer
	a.Headers = map[string]string{}
	for name, value := range e.Answer.Headers {
		a.Headers[name] = t.withIDsOfNow(value)
	}
	if a.Body.Bytes == nil {
		a.Body.Text = t.withIDsOfNow(a.Body.Text)
	}
	return a, true
}

func (t *take) match(now Call) *Exchange {
	read := -1
	for i := range t.of.Exchanges {
		e := &t.of.Exchanges[i]
		if e.Call.Method != now.Method || t.used[i] && now.Method != "GET" && now.Method != "HEAD" {
			continue
		}
		tried := t.names.clone()
		if tried.call(e.Call, now) != "" {
			continue
		}
		if t.used[i] {
			read = i
			continue
		}
		t.used[i], t.names = true, tried
		return e
	}
	if read < 0 {
		return nil
	}
	return &t.of.Exchanges[read]
}

// next is the first exchange that was not used yet and is alike the call in its method and path, or else the first at
// all; nil: all were.
func (t *take) next(now Call) (e *Exchange, diff string, alike bool) {
	for i := range t.of.Exchanges {
		if t.used[i] {
			continue
		}
		one := &t.of.Exchanges[i]
		differs := t.names.clone().call(one.Call, now)
		if e == nil {
			e, diff = one, differs
		}
		if one.Call.Method == now.Method && t.names.clone().text(plain(one.Call.Target), plain(now.Target)) {
			return one, differs, true
		}
	}
	return e, diff, false
}

// withIDsOfNow returns what was recorded, with the UUIDs of now. Each later take gets its own for those that the agent
// has made, so that two conversations are not taken for one.
func (t *take) withIDsOfNow(text string) string {
	return uuidPattern.ReplaceAllStringFunc(text, func(then string) string {
		then = strings.ToLower(then)
		if _, ok := t.names.now[then]; !ok {
			now := then
			if !t.first {
				now = uuid.NewString()
			}
			t.names.bind(then, now)
		}
		return t.names.now[then]
	})
}
