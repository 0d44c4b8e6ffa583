package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
)

var (
	runHTML   = newPage("run", "runs", "run.js", "turn.css", "run.css", "track.html", "turn.html", "question.html")
	eventHTML = newPage("event", "runs", "run.css")
	callHTML  = newPage("call", "runs", "run.css")
)

const (
	defaultRows = 100 // events on a page
	maxRows     = 1000
)

// runView is one run with a page of its axis. Foreign texts are not yet inert; the template makes them so.
type runView struct {
	RunID     string              `json:"run_id"`
	ThreadID  string              `json:"thread_id"`
	TaskID    string              `json:"task_id"`
	Agent     string              `json:"agent"`
	Owner     string              `json:"owner,omitempty"`
	Status    mapping.RunStatus   `json:"status"`
	Parked    bool                `json:"parked,omitempty"`
	Attempt   int                 `json:"attempt"`
	Repeats   string              `json:"repeats,omitempty"` // the run whose request it repeats
	CreatedAt time.Time           `json:"created_at"`
	EndedAt   *time.Time          `json:"ended_at,omitempty"`
	Request   *cutText            `json:"request,omitempty"` // the request in words
	Answer    *cutText            `json:"answer,omitempty"`  // the agent's last text, for an ended run
	Fault     *mapping.Fault      `json:"error,omitempty"`
	Why       string              `json:"why"`                 // explains the status
	Questions []mapping.Interrupt `json:"questions,omitempty"` // that are open
	Closed    []closedQuestion    `json:"closed_questions,omitempty"`
	Continues string              `json:"continues,omitempty"`    // the run whose question it answers
	Continued string              `json:"continued_by,omitempty"` // the run that answered its newest question
	Losses    []lossView          `json:"losses,omitempty"`
	Timing    timing              `json:"timing"`
	Usage     *usage              `json:"usage,omitempty"` // of an ended run; nil means unknown
	Capture   string              `json:"capture"`
	Calls     []*callLine         `json:"calls"`
	NoCalls   string              `json:"no_calls,omitempty"` // why there are no calls
	Answered  *callView           `json:"answered,omitempty"` // the newest failed call of a failed run
	Files     []fileView          `json:"files,omitempty"`    // with the story
	Columns   []string            `json:"columns"`
	Tokens    bool                `json:"tokens"` // the rows include tokens
	After     int64               `json:"after,omitempty"`
	Story     *story              `json:"story,omitempty"`        // on the first page, or if requested
	Others    []otherRun          `json:"compare_with,omitempty"` // on the first page
	MayAct    bool                `json:"-"`
	Again     *againView          `json:"-"` // on the first page of a run that can be repeated
	Curl      string              `json:"-"` // the command that repeats the run; "" if there is none
	Own       int                 `json:"-"` // the place among Columns, from 1, of the dialect of the run's client; 0 if unknown
	axisPage
}

// Title returns the beginning of the request for the heading.
func (v runView) Title() string {
	if v.Request == nil {
		return requestTitle("", v.Agent)
	}
	return requestTitle(v.Request.Text, v.Agent)
}

// requestTitle returns the beginning of a request, or words for a run without one.
func requestTitle(request, agent string) string {
	if request == "" {
		return "Run of " + agent
	}
	return cutRunes(line(request), maxTitle)
}

const maxTitle = 120 // runes

// SaysWhy reports whether the rest of the page explains the status: success needs no reason, and the conversation has an
// error and questions.
func (v runView) SaysWhy() bool {
	return v.Status == mapping.RunSuccess || v.Story != nil && (v.Fault != nil || v.asked() > 0)
}

// asked returns the number of questions with which the run ended.
func (v runView) asked() int { return len(v.Questions) + len(v.Closed) }

// Active reports whether the run can be cancelled.
func (v runView) Active() bool { return v.Status.Active() }

// FormOf returns the form for an open question of the run.
func (v runView) FormOf(id string) (f questionForm) {
	if i := slices.IndexFunc(v.Questions, hasID(id)); i >= 0 {
		f = formOf(v.Questions[i])
	}
	return f
}

// lossView is a request field that the agent did not get as it was sent.
type lossView struct {
	mapping.Loss
	Reason string `json:"reason,omitempty"`
}

func (s *server) runPage(w http.ResponseWriter, r *http.Request) error {
	v, err := s.viewRun(r)
	if err != nil {
		return err
	}
	return s.show(w, r, runHTML, v.Title(), v)
}

func (s *server) viewRun(r *http.Request) (v runView, err error) {
	ctx := r.Context()
	a, err := s.axis(r)
	if err != nil {
		return v, err
	}
	q, err := readAxisQuery(r)
	if err != nil {
		return v, err
	}
	rows, err := a.page(ctx, q)
	if err != nil {
		return v, err
	}
	// The run and its calls are read after the events. Otherwise an event could be shown without the call before it, which
	// no later page would have.
	v, calls, err := s.readRun(ctx, a, q.after == 0 || r.FormValue("story") == "show")
	if err != nil {
		return v, err
	}
	run := &a.run // as of the page
	rows.Rows = withCalls(rows.Rows, run, calls, rows.From, rows.To)
	v.Columns, v.Tokens, v.After, v.MayAct, v.axisPage = a.clients(), q.tokens, q.after, mayAct(ctx), rows
	own := "" // the dialect in whose flavour a client created the run
	if d, _ := s.Dialects.FindFlavour(run.Flavour); d != nil {
		own = d.Name
	}
	v.Own = 1 + slices.IndexFunc(a.columns, func(c column) bool { return c.dialect == own })
	if len(run.Options.Losses) > 0 {
		dialect := s.About(ctx, []string{run.Agent})[run.Agent].Dialect
		for _, l := range run.Options.Losses {
			v.Losses = append(v.Losses, lossView{l, s.Dialects.LossReason(run.Flavour, dialect, l)})
		}
	}
	if q.after == 0 {
		if v.Others, err = s.listOthers(ctx, run); err != nil {
			return v, err
		}
		again, err := s.viewAgain(r, run)
		if err != nil {
			return v, err
		}
		if !again.Answers {
			v.Again, v.Curl = &again, again.Curl(own)
		}
	}
	if run.Fault != nil {
		if v.Answered, err = s.lastFailedCall(ctx, v.RunID, v.Calls); err != nil {
			return v, err
		}
	}
	return v, nil
}

// readRun returns the view of a run without its rows, and its calls.
func (s *server) readRun(ctx context.Context, a *axis, withStory bool) (v runView, calls []adapter.AgentCall, err error) {
	run, ref := &a.run, adapter.RunRef{ThreadID: a.run.ThreadID, RunID: a.run.ID}
	kept, err := s.Service.ListCalls(ctx, ref)
	if err != nil {
		return v, nil, err
	}
	v = runView{
		RunID: run.ID, ThreadID: run.ThreadID, TaskID: run.TaskID, Agent: run.Agent, Owner: run.Owner, Status: run.Status, Parked: run.Parked,
		Attempt: run.Attempt, Repeats: run.Options.Repeats, CreatedAt: run.CreatedAt, Fault: run.Fault, Calls: []*callLine{}, Capture: kept.Capture,
		Request: textOrNil(rule.RequestText(run.Kwargs)), Usage: usageOrNil(run.Totals.Usage),
	}
	if !run.EndedAt.IsZero() {
		v.EndedAt = &run.EndedAt
	}
	for n := range kept.Calls {
		v.Calls = append(v.Calls, lineOfCall(&kept.Calls[n]))
	}
	v.NoCalls = whyNoCalls(&v)
	why, err := s.Service.ExplainRun(ctx, ref)
	if err != nil {
		return v, nil, err
	}
	v.Why = why.Message
	if why.Question != nil {
		v.Questions = why.Question.Interrupts
	}
	head, end, err := s.readEnd(ctx, run)
	if err != nil {
		return v, nil, err
	}
	if v.Closed, err = s.closedQuestions(ctx, &v, head.Outcome); err != nil {
		return v, nil, err
	}
	for _, q := range v.Closed {
		v.Continued = q.RunID
	}
	for _, q := range answeredQuestions(run) {
		v.Continues = q.Run
	}
	if v.asked() == 0 && end != nil { // otherwise the agent's last text is the question
		v.Answer = textOrNil(lastWords(end.JSON()))
	}
	v.Timing = timingOf(run, time.Now(), head.AgentTime, kept)
	if !withStory {
		return v, kept.Calls, nil
	}
	if v.Story, err = s.readStory(ctx, a, &v, kept.Calls, end); err != nil {
		return v, nil, err
	}
	versions, err := s.Service.ListFileVersions(ctx, run.ThreadID)
	versions = attach(v.Story.Turns, versionsOf(run.ID, v.Story.Artifacts, versions))
	for i := range versions[:min(len(versions), maxRunFiles)] {
		v.Files = append(v.Files, viewFile(&versions[i]))
	}
	return v, kept.Calls, err
}

// whyNoCalls returns a sentence about a run without calls. Calls of an active run may still come, unless none are kept.
func whyNoCalls(v *runView) string {
	switch {
	case len(v.Calls) > 0:
		return ""
	case v.Capture == "off":
		return "Calls to agents are not kept (inspector.capture: off)."
	case v.Active():
		return ""
	case v.Capture == "errors" && v.Fault == nil:
		return "Calls to agents are kept only for active and failed runs (inspector.capture: errors)."
	}
	return "No calls to the agent are kept for this run."
}

func readAxisQuery(r *http.Request) (axisQuery, error) {
	q := axisQuery{limit: defaultRows, tokens: r.FormValue("tokens") == "show"}
	for name, set := range map[string]func(int64){"after": func(n int64) { q.after = n }, "limit": func(n int64) { q.limit = int(min(max(n, 1), maxRows)) }} {
		text := r.FormValue(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return q, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s must be a number.", name)
		}
		set(n)
	}
	return q, nil
}

// readEnd returns the head of the end event and the state at the end. Both are empty for an active run.
func (s *server) readEnd(ctx context.Context, run *mapping.Run) (head mapping.Head, end *state.Fold, err error) {
	if run.Status.Active() {
		return head, nil, nil
	}
	for e, err := range s.Service.RunEvents(ctx, adapter.RunRef{ThreadID: run.ThreadID, RunID: run.ID}, adapter.Cursor{End: true}, nil) {
		if err != nil {
			return head, nil, err
		}
		if e.Kind == mapping.KindEnd {
			head, end = e.Head, e.After
		}
	}
	return head, end, nil
}

// closedQuestion is a question with which a run ended and which is no longer open.
type closedQuestion struct {
	ID     string   `json:"id"`
	Text   string   `json:"text"`
	RunID  string   `json:"run_id,omitempty"` // the run that answered; "" if no run did, or if it is not known
	Answer *cutText `json:"answer,omitempty"` // its request in words
}

// closedQuestions returns the questions of an outcome that are not among the open ones of the view, with their answers.
func (s *server) closedQuestions(ctx context.Context, v *runView, o *mapping.Outcome) (list []closedQuestion, err error) {
	if o == nil || o.Status != mapping.RunInterrupted || o.Cancelled {
		return nil, nil
	}
	for _, q := range o.Interrupts {
		if slices.ContainsFunc(v.Questions, hasID(q.ID)) {
			continue
		}
		// Agents may ask with the same id again.
		by, err := s.runThatAnswered(ctx, v.ThreadID, func(a mapping.Interrupt) bool { return a.ID == q.ID && a.Run == v.RunID })
		if err != nil {
			return nil, err
		}
		list = append(list, closedQuestion{q.ID, rule.QuestionText(q.Value), by.ID, textOrNil(rule.RequestText(by.Kwargs))})
	}
	return list, nil
}

func textOrNil(text string) *cutText {
	if text == "" {
		return nil
	}
	return new(cut(text))
}

// clockEvery is the interval at which the page of an active run updates its time if nothing else changes.
const clockEvery = 2 * time.Second

// followRun sends each logged event and each change of status. While the run is active, it also sends the elapsed time.
func (s *server) followRun(w http.ResponseWriter, r *http.Request) error {
	ref := refOf(r)
	return s.follow(w, r, func(ctx context.Context) (string, error) {
		run, err := s.Service.GetRun(ctx, ref)
		if err != nil {
			return "", err
		}
		if !run.Status.Active() {
			return string(run.Status), nil
		}
		at, err := s.Service.ThreadPosition(ctx, run.ThreadID, adapter.Cursor{Live: true})
		return fmt.Sprintf("%d.%s.%t.%d", at.Seq, run.Status, run.Parked, time.Since(run.CreatedAt)/clockEvery), err
	})
}

// eventView is an event with its logged bytes and the frames that clients got for it.
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

// seenView holds the frames that clients of one dialect got.
type seenView struct {
	Clients string      `json:"clients"`
	Sights  []frameView `json:"sights"`
}

type frameView struct {
	frames
	Part string  `json:"part"` // below the event's address
	Size int     `json:"size"`
	Text excerpt `json:"text"`
}

func seqOf(r *http.Request) int64 {
	n, err := strconv.ParseInt(mux.Vars(r)["seq"], 10, 64)
	if err != nil {
		return -1 // no event has it
	}
	return n
}

// partName names a frame in the address of its bytes.
func partName(dialect string, n int) string { return dialect + "-" + strconv.Itoa(n) }

func (s *server) eventPage(w http.ResponseWriter, r *http.Request) error {
	a, err := s.axis(r)
	if err != nil {
		return err
	}
	var v eventView
	err = a.find(r.Context(), seqOf(r), func(e *state.Entry, seen [][]adapter.Frame) {
		v = viewEvent(mapping.PrincipalOf(r.Context()), a, e, seen)
	})
	if err != nil {
		return err
	}
	return s.show(w, r, eventHTML, "Event "+strconv.FormatInt(v.Seq, 10), v)
}

func viewEvent(who mapping.Principal, a *axis, e *state.Entry, seen [][]adapter.Frame) eventView {
	head, err := json.Marshal(visibleHead(who, &e.Head))
	if err != nil {
		head = nil
	}
	v := eventView{RunID: a.run.ID, Seq: e.Seq, At: e.At, Kind: e.Kind, Head: excerptOf(head), Data: excerptOf(e.Data), Size: len(e.Data)}
	for c, list := range seen {
		one := seenView{Clients: a.columns[c].clients, Sights: []frameView{}}
		for n, f := range list {
			b := f.Bytes()
			one.Sights = append(one.Sights, frameView{frames{Name: f.Name, ID: f.ID, Note: f.Note}, partName(a.columns[c].dialect, n), len(b), excerptOf(b)})
		}
		v.Seen = append(v.Seen, one)
	}
	return v
}

// eventBytes sends the data of an event, or of a frame that clients got for it, unchanged.
func (s *server) eventBytes(w http.ResponseWriter, r *http.Request) error {
	a, err := s.axis(r)
	if err != nil {
		return err
	}
	part, found, b := mux.Vars(r)["part"], false, []byte(nil)
	err = a.find(r.Context(), seqOf(r), func(e *state.Entry, seen [][]adapter.Frame) {
		if part == "data" {
			found, b = true, e.Data
			return
		}
		for c, list := range seen {
			for n, f := range list {
				if partName(a.columns[c].dialect, n) == part {
					found, b = true, f.Bytes()
				}
			}
		}
	})
	if err == nil && !found {
		err = notFound("The event has no such part.")
	}
	if err != nil {
		return err
	}
	return sendText(w, "event-"+strconv.FormatInt(seqOf(r), 10)+"-"+part, b)
}

// callView is one call of the agent with its bodies.
type callView struct {
	RunID string    `json:"run_id"`
	At    time.Time `json:"at"`
	*callLine
	Asked    partView `json:"sent"`
	Answered partView `json:"received"`
	Withheld string   `json:"withheld,omitempty"` // why the bodies are not shown
}

// partView is the request or the response of a call.
type partView struct {
	Headers []header `json:"headers"`
	Size    int64    `json:"size"`
	Kept    int      `json:"kept"`
	Cut     bool     `json:"cut"` // only a part of the body is kept
	Text    excerpt  `json:"text"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const withheld = "The bodies are not shown because they may contain items of the long-term store outside of the key's namespaces."

func (s *server) callPage(w http.ResponseWriter, r *http.Request) error {
	c, err := s.callOf(r)
	if err != nil {
		return err
	}
	return s.show(w, r, callHTML, "Call "+strconv.FormatInt(c.N, 10), viewCall(refOf(r).RunID, &c))
}

// callOf returns the call that a request names.
func (s *server) callOf(r *http.Request) (c adapter.AgentCall, err error) {
	ref := refOf(r)
	n, err := strconv.ParseInt(mux.Vars(r)["n"], 10, 64)
	if err != nil {
		return c, adapter.NoCall(ref.RunID, 0)
	}
	return s.Service.GetCall(r.Context(), ref, n)
}

func viewCall(run string, c *adapter.AgentCall) callView {
	v := callView{RunID: run, At: c.At, callLine: lineOfCall(c), Asked: viewPart(&c.Sent), Answered: viewPart(&c.Received)}
	if c.Withheld {
		v.Withheld = withheld
	}
	return v
}

func viewPart(p *adapter.CallPart) partView {
	v := partView{Headers: []header{}, Size: p.Size, Kept: p.Kept, Cut: p.Cut(), Text: excerptOf(p.Body)}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		v.Headers = append(v.Headers, header{name, p.Header[name]})
	}
	return v
}

// callBytes sends a body as it is kept.
func (s *server) callBytes(w http.ResponseWriter, r *http.Request) error {
	c, err := s.callOf(r)
	if err != nil {
		return err
	}
	name := mux.Vars(r)["side"]
	part, ok := map[string]*adapter.CallPart{"sent": &c.Sent, "received": &c.Received}[name]
	if !ok {
		return notFound("The parts of a call are sent and received.")
	}
	if c.Withheld {
		return mapping.Errorf(mapping.Forbidden, "forbidden", withheld)
	}
	return sendText(w, "call-"+strconv.FormatInt(c.N, 10)+"-"+name, part.Body)
}

// lastFailedCall returns the newest failed call, or nil.
func (s *server) lastFailedCall(ctx context.Context, run string, calls []*callLine) (*callView, error) {
	for _, c := range slices.Backward(calls) {
		if !c.Failed() {
			continue
		}
		whole, err := s.Service.GetCall(ctx, adapter.RunRef{RunID: run}, c.N)
		if isNotFound(err) {
			return nil, nil // it was dropped since
		}
		if err != nil {
			return nil, err
		}
		return new(viewCall(run, &whole)), nil
	}
	return nil, nil
}
