package mapping

import (
	"encoding/json"
	"strconv"
)

// messageSource is a part of a request that holds messages.
type messageSource struct {
	name string // for complaints
	list []json.RawMessage
	one  bool // a single message, not a list of one
}

// inputSource reads the messages of a LangGraph input or state update: a list,
// or one message.
func inputSource(b json.RawMessage, name string) (messageSource, error) {
	switch {
	case isNull(b):
		return messageSource{name: name}, nil
	case kindOf(b) != '[':
		return messageSource{name: name, list: []json.RawMessage{trimJSON(b)}, one: true}, nil
	}
	list, err := splitArray(b)
	if err != nil {
		return messageSource{}, invalidAt(name, "%v", err)
	}
	return messageSource{name: name, list: list}, nil
}

func (s messageSource) place(i int) place {
	if s.one {
		i = -1
	}
	return place{s.name, i}
}

// normalMessages puts messages into normal form and gives ids to those without
// one. spoken is the content of the last human message. The messages stand in one
// buffer, so that many short ones cost what their text does.
func normalMessages(idBase string, sources ...messageSource) (list []json.RawMessage, spoken json.RawMessage, err error) {
	count, size := 0, 0
	for _, s := range sources {
		count += len(s.list)
		for _, e := range s.list {
			size += len(e) + normalSize
		}
	}
	if count == 0 {
		return nil, nil, nil
	}
	ids, buf := newIDMaker(idBase), make([]byte, 0, size)
	list = make([]json.RawMessage, 0, count)
	for _, s := range sources {
		for i, e := range s.list {
			m, err := parseMessage(e, s.place(i))
			if err != nil {
				return nil, nil, err
			}
			if m.id == "" {
				m.id = ids.make(inputName(len(list), count))
			}
			if m.kind == typeHuman {
				spoken = m.content
			}
			from := len(buf)
			buf = m.appendTo(buf)
			list = append(list, buf[from:len(buf):len(buf)])
		}
	}
	return list, spoken, nil
}

// inputName is what the id of the message at i of n is made from.
func inputName(i, n int) string {
	if n == 1 {
		return "input"
	}
	return "input/" + strconv.Itoa(i+1)
}
