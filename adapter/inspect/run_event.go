package inspect

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
)

var eventHTML = newPage("event", "runs", "run.css")

// eventView is an event with the bytes that were logged, and those that clients got of it.
type eventView struct {
	RunID string       `json:"run_id"`
	Seq   int64        `json:"seq"`
	At    time.Time    `json:"at"`
	Kind  mapping.Kind `json:"kind"`
	Head  excerpt      `json:"head"`
	Data  excerpt      `json:"data"`
	Size  int          `json:"size"`
	Seen  []seenView   `json:"seen"`
}

// seenView is what clients of one dialect got.
type seenView struct {
	Clients string      `json:"clients"`
	Sights  []sightView `json:"sights"`
}

type sightView struct {
	timeline.Seen
	Part string  `json:"part"` // below the event's address
	Size int     `json:"size"`
	Text excerpt `json:"text"`
}

// noSuchEvent is found nowhere.
const noSuchEvent = -1

func seqOf(r *http.Request) int64 {
	n, err := strconv.ParseInt(mux.Vars(r)["seq"], 10, 64)
	if err != nil {
		return noSuchEvent
	}
	return n
}

// partName is by what the address of the bytes names one of a dialect's sights.
func partName(dialect string, n int) string { return dialect + "-" + strconv.Itoa(n) }

// eventPage shows one event of a run, and its bytes.
type eventPage struct {
	*renderer
	axes *axes
}

func (p *eventPage) serve(w http.ResponseWriter, r *http.Request) error {
	a, err := p.axes.axis(r)
	if err != nil {
		return err
	}
	var v eventView
	err = a.Find(r.Context(), seqOf(r), func(e *state.Entry, seen [][]adapter.Frame) {
		v = viewOfEvent(mapping.PrincipalOf(r.Context()), a, e, seen)
	})
	if err != nil {
		return err
	}
	return p.show(w, r, eventHTML, "Event "+strconv.FormatInt(v.Seq, 10), v)
}

func viewOfEvent(who mapping.Principal, a *timeline.Axis, e *state.Entry, seen [][]adapter.Frame) eventView {
	head, err := json.Marshal(timeline.HeadFor(who, &e.Head))
	if err != nil {
		head = nil
	}
	v := eventView{RunID: a.Run.ID, Seq: e.Seq, At: e.At, Kind: e.Kind, Head: excerptOf(head), Data: excerptOf(e.Data), Size: len(e.Data)}
	names, clients := a.Names(), a.Columns()
	for c, sights := range seen {
		one := seenView{Clients: clients[c], Sights: []sightView{}}
		for n, s := range sights {
			b := s.Bytes()
			one.Sights = append(one.Sights, sightView{timeline.Seen{Name: s.Name, ID: s.ID, Note: s.Note}, partName(names[c], n), len(b), excerptOf(b)})
		}
		v.Seen = append(v.Seen, one)
	}
	return v
}

// serveBytes sends what was logged with an event (data), or what clients got of it, as it is.
func (p *eventPage) serveBytes(w http.ResponseWriter, r *http.Request) error {
	a, err := p.axes.axis(r)
	if err != nil {
		return err
	}
	part, found, b := mux.Vars(r)["part"], false, []byte(nil)
	err = a.Find(r.Context(), seqOf(r), func(e *state.Entry, seen [][]adapter.Frame) {
		if found = part == "data"; found {
			b = e.Data
			return
		}
		b, found = sightOf(a.Names(), seen, part)
	})
	if err == nil && !found {
		err = mapping.Errorf(mapping.NotFound, codeNotFound, "The event has no such part.")
	}
	if err != nil {
		return err
	}
	return sendBytes(w, "event-"+strconv.FormatInt(seqOf(r), 10)+"-"+part, b)
}

func sightOf(names []string, seen [][]adapter.Frame, part string) ([]byte, bool) {
	for c, sights := range seen {
		for n, s := range sights {
			if partName(names[c], n) == part {
				return s.Bytes(), true
			}
		}
	}
	return nil, false
}
