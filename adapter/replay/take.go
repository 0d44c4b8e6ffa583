package replay

import (
	"strings"

	"github.com/google/uuid"
)

// take is one replay of a recording.
type take struct {
	of    *Recording
	first bool // the agent's ids are those of the recording
	used  []bool
	names names
}

func newTake(of *Recording, first bool) *take {
	return &take{of: of, first: first, used: make([]bool, len(of.Exchanges)), names: newNames()}
}

// answer returns the recorded answer to a call. It uses the first unused exchange that matches or, for a call that only
// reads, the newest used one.
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

// next returns the first unused exchange with the method and path of the call, or else the first unused one. It returns
// nil if all are used.
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

// withIDsOfNow returns recorded text with the current UUIDs. In later takes the agent's ids are replaced with new ones,
// so that conversations can be distinguished.
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
