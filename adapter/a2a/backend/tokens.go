package backend

import (
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
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
	newest   map[string]newestText    // by source
}

// streamedText is the part of a message that has been yielded.
type streamedText struct {
	text   string
	logged strings.Builder // what replay has found of it
	done   bool            // a step has the message
}

// newestText is the message for the newest text of a source, and the version of that text.
type newestText struct {
	id      string
	version int
}

// growing is a text that an agent reports piece by piece. Texts of a source with the same version continue each other,
// so they need not be compared, which would take longer with each piece. Version 0 promises nothing.
type growing struct {
	source, text string
	version      int
	artifact     *wire.Artifact // that has the text; nil for a message
}

func newTokenStream(r *run) tokenStream {
	return tokenStream{r: r, wanted: rule.WantsTokens(&r.assigned.Run.Options), messages: map[string]*streamedText{}, newest: map[string]newestText{}}
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
			m := s.message(rawjson.GetText(parts[0], "id"))
			m.logged.WriteString(rule.MessageText(parts[0]))
			m.text = m.logged.String()
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
func (s *tokenStream) write(g growing, begin, passing bool) error {
	if !s.wanted || g.text == "" {
		return nil
	}
	if last, ok := s.newest[g.source]; ok && g.version > 0 && last.version == g.version && !s.messages[last.id].done {
		return s.extend(last.id, g, passing)
	}
	for n := 0; ; n++ {
		id := s.id(g.source, n)
		m := s.messages[id]
		switch {
		case m == nil && !begin:
			return nil
		case m == nil:
			s.message(id)
		case len(m.text) > len(g.text) && strings.HasPrefix(m.text, g.text): // an outdated snapshot
			return nil
		case m.text == g.text: // repeated
		case m.done || !strings.HasPrefix(g.text, m.text):
			continue
		}
		s.newest[g.source] = newestText{id, g.version}
		return s.extend(id, g, passing)
	}
}

// extend yields the rest of a text that continues the tokens of a message.
func (s *tokenStream) extend(id string, g growing, passing bool) error {
	m := s.messages[id]
	rest := g.text[len(m.text):]
	if rest == "" {
		return nil
	}
	if !passing { // so the held step is not the last one
		if err := s.r.output.flush(false); err != nil {
			return err
		}
	}
	ev := rule.StepToken(s.r.assigned.Run, id, rest, passing)
	if g.artifact != nil && m.text == "" {
		head := *g.artifact
		head.Parts = wire.Parts{wire.TextPart("")}
		ev.Head.Native, _ = wire.Append(nil, wire.V1, &wire.LoggedArtifact{Artifact: head}) // cannot fail: it was read
	}
	m.text = g.text
	return s.r.emit(ev)
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
