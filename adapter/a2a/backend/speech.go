package backend

import (
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// speech yields texts while they grow, as tokens of messages. Clients join the tokens of a message, so the tokens yielded
// for one are never corrected: if a text does not continue them, further tokens have another message id.
type speech struct {
	r        *run
	wanted   bool               // a client of the run requested tokens
	messages map[string]*spoken // by id
}

// spoken is the text of a message as far as it was yielded.
type spoken struct {
	text string
	done bool // a step has the message
}

func newSpeech(r *run) speech {
	return speech{r: r, wanted: rule.WantsTokens(&r.assigned.Run.Options), messages: map[string]*spoken{}}
}

// id returns the id of the nth message for a text of the agent. A further attempt has other ids.
func (s *speech) id(source string, n int) string {
	return mapping.MessageID(s.r.messageID(), strconv.Itoa(n)+" "+source)
}

// artifactSource and statusSource name texts of the agent by its own ids.
func artifactSource(id string) string { return "artifact " + id }
func statusSource(id string) string   { return "status " + id }

// replay notes a logged event.
func (s *speech) replay(ev *mapping.Event) {
	switch ev.Kind {
	case mapping.KindDelta:
		for _, chunk := range rawjson.ElementsOf(ev.Data)[:1] {
			s.message(rawjson.GetText(chunk, "id")).text += rule.MessageText(chunk)
		}
	case mapping.KindUpdate:
		if ev.Head.Streamed {
			for _, m := range rawjson.ElementsOf(rawjson.Get(ev.Data, state.KeyMessages)) {
				s.message(state.IDOfMessage(m)).done = true
			}
		}
	}
}

func (s *speech) message(id string) *spoken {
	if s.messages[id] == nil {
		s.messages[id] = &spoken{}
	}
	return s.messages[id]
}

// say yields the part of a text that was not yielded yet. A text that has not begun is only begun if begin is set. passing
// means that the text only reports progress.
func (s *speech) say(source, text string, begin, passing bool) error {
	if !s.wanted || text == "" {
		return nil
	}
	for n := 0; ; n++ {
		id := s.id(source, n)
		m := s.messages[id]
		switch {
		case m == nil && !begin:
			return nil
		case m == nil:
			m = s.message(id)
		case strings.HasPrefix(m.text, text): // repeated, or a snapshot that is behind
			return nil
		case m.done || !strings.HasPrefix(text, m.text):
			continue
		}
		if !passing { // more than the held step follows
			if err := s.r.output.flush(false); err != nil {
				return err
			}
		}
		rest := text[len(m.text):]
		m.text = text
		return s.r.emit(rule.StepToken(s.r.assigned.Run, id, rest, passing))
	}
}

// finish returns the id of the message whose tokens have exactly the text, if there is one. No further text gets it.
func (s *speech) finish(source, text string) string {
	for n := 0; text != ""; n++ {
		id := s.id(source, n)
		m := s.messages[id]
		if m == nil {
			break
		}
		if m.text == text && !m.done {
			m.done = true
			return id
		}
	}
	return ""
}
