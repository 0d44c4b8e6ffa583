package backend

import (
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

// tokenStream yields growing texts as tokens of messages. Clients concatenate the tokens of a message, so tokens cannot be
// corrected. If a text does not continue the tokens that were yielded, it starts another message.
type tokenStream struct {
	r        *run
	wanted   bool                     // a client of the run requested tokens
	messages map[string]*streamedText // by id
}

// streamedText is the part of a message that has been yielded.
type streamedText struct {
	text string
	done bool // a step has the message
}

func newTokenStream(r *run) tokenStream {
	return tokenStream{r: r, wanted: rule.WantsTokens(&r.assigned.Run.Options), messages: map[string]*streamedText{}}
}

// id returns the id of the nth message for a source of text. Each attempt has its own ids.
func (s *tokenStream) id(source string, n int) string {
	return mapping.MessageID(s.r.messageID(), strconv.Itoa(n)+" "+source)
}

// artifactSource and statusSource identify a source of text by the agent's id.
func artifactSource(id string) string { return "artifact " + id }
func statusSource(id string) string   { return "status " + id }

// replay records a logged event.
func (s *tokenStream) replay(ev *mapping.Event) {
	switch ev.Kind {
	case mapping.KindDelta:
		if parts := rawjson.ElementsOf(ev.Data); len(parts) > 0 {
			s.message(rawjson.GetText(parts[0], "id")).text += rule.MessageText(parts[0])
		}
	case mapping.KindUpdate:
		if ev.Head.Streamed {
			for _, m := range rawjson.ElementsOf(rawjson.Get(ev.Data, state.KeyMessages)) {
				s.message(state.IDOfMessage(m)).done = true
			}
		}
	}
}

func (s *tokenStream) message(id string) *streamedText {
	if s.messages[id] == nil {
		s.messages[id] = &streamedText{}
	}
	return s.messages[id]
}

// write yields the rest of a text. It starts a new message only if begin is set. passing means that the text only reports
// progress.
func (s *tokenStream) write(source, text string, begin, passing bool) error {
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
		case strings.HasPrefix(m.text, text): // repeated, or an outdated snapshot
			return nil
		case m.done || !strings.HasPrefix(text, m.text):
			continue
		}
		if !passing { // so the held step is not the last one
			if err := s.r.output.flush(false); err != nil {
				return err
			}
		}
		rest := text[len(m.text):]
		m.text = text
		return s.r.emit(rule.StepToken(s.r.assigned.Run, id, rest, passing))
	}
}

// finish ends the message whose tokens are exactly the text and returns its id, or "" if there is none.
func (s *tokenStream) finish(source, text string) string {
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
