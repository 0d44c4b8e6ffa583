package rule

import (
	"encoding/json"
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

// messageSource is a part of a request with messages.
type messageSource struct {
	name string // for errors
	list []json.RawMessage
	one  bool // a single message, not a list of one
}

// inputSource reads the messages of a LangGraph input or state update: a list, or one message.
func inputSource(b json.RawMessage, name string) (messageSource, error) {
	switch {
	case rawjson.IsNull(b):
		return messageSource{name: name}, nil
	case rawjson.Kind(b) != '[':
		return messageSource{name: name, list: []json.RawMessage{rawjson.Trim(b)}, one: true}, nil
	}
	list, err := rawjson.Elements(b)
	if err != nil {
		return messageSource{}, mapping.InvalidAt(name, "%v", err)
	}
	return messageSource{name: name, list: list}, nil
}

func (s messageSource) place(i int) place {
	if s.one {
		i = -1
	}
	return place{s.name, i}
}

// normalMessages normalises messages and gives ids to those without one. The messages are slices of delta, the object
// {messages}, so that they are in memory only once. spoken is the content of the last human message.
func normalMessages(idBase string, sources ...messageSource) (list []json.RawMessage, delta, spoken json.RawMessage, err error) {
	count, size := 0, 0
	for _, s := range sources {
		count += len(s.list)
		for _, e := range s.list {
			size += len(e) + normalSize
		}
	}
	if count == 0 {
		return nil, nil, nil, nil
	}
	ids, w := mapping.NewIDMaker(idBase), newDelta(size)
	w.list = make([]json.RawMessage, 0, count)
	for _, s := range sources {
		for i, e := range s.list {
			m, err := parseMessage(e, s.place(i))
			if err == nil {
				err = checkRole(m, s.place(i))
			}
			if err != nil {
				return nil, nil, nil, err
			}
			if m.id == "" {
				m.id = ids.Make(inputName(len(w.list), count))
			}
			if m.kind == typeHuman {
				spoken = m.content
			}
			w.add(m)
		}
	}
	list, delta = w.done()
	return list, delta, spoken, nil
}

// deltaWriter writes the delta {messages} and records the position of each message.
type deltaWriter struct {
	w    rawjson.Writer
	list []json.RawMessage
}

// newDelta returns a writer with room for messages of size bytes.
func newDelta(size int) deltaWriter {
	const frame = `{"messages":[]}`
	d := deltaWriter{w: rawjson.Writer{Bytes: make([]byte, 0, size+len(frame))}}
	d.w.Open('{').Key(state.KeyMessages).Open('[')
	return d
}

func (d *deltaWriter) add(m message) {
	d.w.Separate()
	from := len(d.w.Bytes)
	m.writeTo(&d.w)
	d.list = append(d.list, d.w.Bytes[from:len(d.w.Bytes):len(d.w.Bytes)])
}

func (d *deltaWriter) done() (list []json.RawMessage, delta json.RawMessage) {
	return d.list, d.w.Close(']').Close('}').Bytes
}

// CheckMessages returns an error if a request has more than most messages. If most is 0, any number is allowed. Count a
// list with CountElements before reading it.
func CheckMessages(n, most int) error {
	if most > 0 && n > most {
		return mapping.Errorf(mapping.Invalid, "too_many_messages",
			"The request has %d messages, and limits.messages of this bridge is %d. Send fewer at a time.", n, most)
	}
	return nil
}

// inputName returns the name from which the id of message i of n is derived.
func inputName(i, n int) string {
	if n == 1 {
		return "input"
	}
	return "input/" + strconv.Itoa(i+1)
}
