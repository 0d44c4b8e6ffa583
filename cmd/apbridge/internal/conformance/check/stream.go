package check

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/apbridge/apbridge/adapter/sse"
)

// Event is one event of a stream. Data is nil unless it is JSON.
type Event struct {
	Name, ID string
	Data     any
	JSON     bool // the data is JSON
}

// Stream is an event stream that was read to its end or until enough returned true.
type Stream struct {
	Answer
	Events []Event
	Ended  bool // the server has ended it
}

// Stream sends a request and reads events until enough returns true or the stream ends. enough may be nil. A response
// of another type has no events.
func (t *Talk) Stream(r Request, enough func(Event) bool) Stream {
	if r.Header == nil {
		r.Header = map[string]string{"Accept": "text/event-stream"}
	}
	res := t.open(r)
	if res == nil {
		return Stream{Answer: Answer{talk: t}}
	}
	defer res.Body.Close()
	s := Stream{Answer: Answer{talk: t, Status: res.StatusCode, Header: res.Header}}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "text/event-stream" || res.StatusCode != http.StatusOK {
		s.Body, _ = io.ReadAll(io.LimitReader(res.Body, maxBody)) // only for the result
		t.last.came = described(res, s.Body)
		return s
	}
	t.read(res, &s, enough)
	return s
}

// Opened sends a request and reads only the header of the response, because the body may never end.
func (t *Talk) Opened(r Request) Answer {
	res := t.open(r)
	if res == nil {
		return Answer{talk: t}
	}
	defer res.Body.Close()
	t.last.came = described(res, nil)
	return Answer{talk: t, Status: res.StatusCode, Header: res.Header, shown: t.last}
}

func (t *Talk) read(res *http.Response, s *Stream, enough func(Event) bool) {
	body := &tailReader{from: io.LimitReader(res.Body, maxBody)}
	defer func() { t.last.came = described(res, body.last) }()
	events := sse.NewReader(body, maxBody)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) && body.total < maxBody {
			s.Ended = true
			return
		}
		t.last.came = described(res, body.last)
		switch {
		case err != nil && body.total >= maxBody:
			t.Fail("the stream has more than %d MiB", maxBody>>20)
			return
		case err != nil:
			t.Fail("the stream did not end: %s", t.why(err))
			return
		case len(s.Events) == maxEvents:
			t.Fail("the stream has more than %d events", maxEvents)
			return
		}
		event := eventOf(e)
		s.Events = append(s.Events, event)
		if enough != nil && enough(event) {
			return
		}
	}
}

func eventOf(e sse.Event) Event {
	event := Event{Name: e.Name, ID: e.ID}
	event.JSON = json.Unmarshal(e.Data, &event.Data) == nil
	return event
}

// tailReader keeps the last bytes that were read.
type tailReader struct {
	from  io.Reader
	total int
	last  []byte
}

func (s *tailReader) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.total += n
	const most = 240
	s.last = append(s.last, p[:n]...)
	if len(s.last) > most {
		s.last = append([]byte("…"), s.last[len(s.last)-most:]...)
	}
	return n, err
}

// Names returns the names of the events in their order.
func (s Stream) Names() (names []string) {
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	return names
}

// First returns the first event with a name.
func (s Stream) First(name string) (Event, bool) {
	for _, e := range s.Events {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}

// Events posts a value as JSON and reads the event stream to its end. It fails the check on a response of another type.
func (t *Talk) Events(path string, body any) Stream {
	s := t.Stream(Request{Method: http.MethodPost, Path: path, Body: t.JSON(body)}, nil)
	s.Is(http.StatusOK).Typed("text/event-stream")
	return s
}
