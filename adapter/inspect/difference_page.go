package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
)

const (
	maxChanges = 100
	maxRunName = 60 // runes
	// maxAround is the length of the common text that is shown on each side of a difference, in bytes.
	maxAround = 300
)

// differenceView is the difference between two checkpoints of a thread.
type differenceView struct {
	ThreadID string       `json:"thread_id"`
	From     string       `json:"from"`      // "" is the empty state before the first checkpoint
	FromStep string       `json:"from_step"` // in words
	To       string       `json:"to"`
	ToStep   string       `json:"to_step"`
	Summary  string       `json:"summary"`
	Changes  []changeView `json:"changes"`
	More     bool         `json:"more,omitempty"` // not all changes are listed
}

// ShortFrom returns the end of the id of From.
func (v differenceView) ShortFrom() string { return shortID(v.From) }

// ShortTo returns the end of the id of To.
func (v differenceView) ShortTo() string { return shortID(v.To) }

// Holds returns the checkpoint that has a message which was added or removed.
func (v differenceView) Holds(kind changeKind) string {
	if kind == removed {
		return v.From
	}
	return v.To
}

// changeView is a change of a value or a message.
type changeView struct {
	Path    string       `json:"path"`
	Kind    changeKind   `json:"kind"`
	Turn    *turn        `json:"turn,omitempty"`    // the message that was added or removed
	Message string       `json:"message,omitempty"` // the role of the message that was changed
	Parts   []changeView `json:"parts,omitempty"`   // of the message that was changed
	Words   []piece      `json:"words,omitempty"`   // of a text that was changed; a is the text before
	Before  cutText      `json:"before,omitzero"`
	After   cutText      `json:"after,omitzero"`
}

// Groups returns the changes for display. Consecutive messages that were added, or removed, are a group; any other
// change is one of its own.
func (v differenceView) Groups() (list [][]changeView) {
	for i, c := range v.Changes {
		if i > 0 && c.Turn != nil && v.Changes[i-1].Turn != nil && v.Changes[i-1].Kind == c.Kind {
			list[len(list)-1] = append(list[len(list)-1], c)
		} else {
			list = append(list, []changeView{c})
		}
	}
	return list
}

// differencePage compares the checkpoints from and to. Without from it compares to with its parent. The tree names one
// or two checkpoints as at, in any order.
func (s *server) differencePage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	from, to, err := s.comparedStates(r, q["at"], q.Get("from"), q.Get("to"))
	if err != nil {
		return err
	}
	v := differenceView{
		ThreadID: to.ThreadID, From: from.Checkpoint, FromStep: stepName(from.StepNumber, from.Parent), To: to.Checkpoint, ToStep: stepName(to.StepNumber, to.Parent),
	}
	if runOf(from) != runOf(to) { // each run numbers its steps
		for st, name := range map[*adapter.ThreadState]*string{&from: &v.FromStep, &to: &v.ToStep} {
			of, err := s.nameRun(r.Context(), *st)
			if err != nil {
				return err
			}
			*name += of
		}
	}
	v.Changes, v.More = changesOf(from.Values, to.Values, maxChanges)
	v.Summary = v.summary()
	return s.show(w, r, differenceHTML, "Difference", v)
}

// comparedStates returns the two states that a request names.
func (s *server) comparedStates(r *http.Request, at []string, fromID, toID string) (from, to adapter.ThreadState, err error) {
	switch len(at) {
	case 0:
	case 1:
		fromID, toID = "", at[0]
	case 2:
		fromID, toID = at[1], at[0] // the tree lists the newest first
	default:
		return from, to, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "Two checkpoints can be compared, but %d are selected. Go back and select two.", len(at))
	}
	if to, err = s.Service.GetState(r.Context(), threadOf(r), toID); err != nil {
		return from, to, err
	}
	if fromID = cmp.Or(fromID, to.Parent); fromID == "" {
		return adapter.ThreadState{Values: json.RawMessage("{}")}, to, nil
	}
	if from, err = s.Service.GetState(r.Context(), threadOf(r), fromID); err != nil {
		return from, to, err
	}
	if len(at) == 2 && to.CreatedAt.Before(from.CreatedAt) {
		from, to = to, from
	}
	return from, to, nil
}

// runOf returns the id of the run that made a checkpoint, or "".
func runOf(st adapter.ThreadState) string { return rawjson.GetText(st.Metadata, "run_id") }

// nameRun returns words that name the run of a checkpoint by its request, to follow the step; "" without a run.
func (s *server) nameRun(ctx context.Context, st adapter.ThreadState) (string, error) {
	id := runOf(st)
	if id == "" {
		return "", nil
	}
	run, err := s.Service.GetRun(ctx, adapter.RunRef{ThreadID: st.ThreadID, RunID: id})
	if isNotFound(err) {
		return " of a deleted run", nil
	}
	if err != nil {
		return "", err
	}
	return " of “" + cutRunes(requestTitle(rule.RequestText(run.Kwargs), run.Agent), maxRunName) + "”", nil
}

// stepName names the step of a checkpoint with a step number and a parent.
func stepName(step int, parent string) string {
	switch {
	case step > 0:
		return "step " + strconv.Itoa(step)
	case parent == "":
		return "the start"
	}
	return "the input"
}

// summary returns one sentence about the changes.
func (v *differenceView) summary() string {
	between := " between " + v.FromStep + " and " + v.ToStep + "."
	switch {
	case v.From == "":
		between = " with the first checkpoint."
	case v.FromStep == v.ToStep: // of different runs or lines
		between = " between " + v.FromStep + " (" + v.ShortFrom() + ") and " + v.ToStep + " (" + v.ShortTo() + ")."
	}
	if len(v.Changes) == 0 {
		return "Nothing changed" + between
	}
	count := map[string]map[changeKind]int{"message": {}, "value": {}}
	for _, c := range v.Changes {
		noun := "value"
		if c.Turn != nil || c.Message != "" {
			noun = "message"
		}
		count[noun][c.Kind]++
	}
	var said []string
	for _, noun := range []string{"message", "value"} {
		for _, kind := range []changeKind{added, changed, removed} {
			if n := count[noun][kind]; n > 0 {
				said = append(said, counted(n, noun)+" "+string(kind))
			}
		}
	}
	text := strings.Join(said, ", ")
	if v.More {
		text = "More than " + strconv.Itoa(len(v.Changes)) + " changes, among them " + text
	}
	return text + between
}

// changesOf lists at most most changes between two states: those of messages, then those of values.
func changesOf(before, after json.RawMessage, most int) (list []changeView, more bool) {
	list, work := []changeView{}, wordWork
	was, is := rawjson.Get(before, state.KeyMessages), rawjson.Get(after, state.KeyMessages)
	if isList(was) && isList(is) {
		list, more = messageChanges(was, is, most, &work)
		before, after = withoutMessages(before), withoutMessages(after)
	}
	rest, further := difference(before, after, most-len(list))
	for _, c := range rest {
		if !isFileTime(c.path) {
			list = append(list, viewChange(c, &work))
		}
	}
	return list, more || further
}

// isFileTime reports whether a value is the time at which a file was written. It changes with the content, or says
// nothing.
func isFileTime(path string) bool {
	return strings.HasPrefix(path, state.KeyFiles+".") && strings.HasSuffix(path, ".modified_at")
}

func isList(b json.RawMessage) bool { return rawjson.IsNull(b) || rawjson.Kind(b) == '[' }

func withoutMessages(values json.RawMessage) json.RawMessage {
	rest, err := rawjson.Without(values, state.KeyMessages)
	if err != nil {
		return values
	}
	return rest
}

// messageChanges compares two lists of messages, by id if all have one.
func messageChanges(before, after json.RawMessage, most int, work *int) (list []changeView, more bool) {
	was, is := elements(orEmptyList(before), orEmptyList(after))
	add := func(c changeView) {
		if more = len(list) >= most; !more {
			list = append(list, c)
		}
	}
	whole := func(kind changeKind, m rawjson.Member, place int) {
		t := turnOf(m.Value)
		t.Index = place
		add(changeView{Path: joinPath(state.KeyMessages, m.Name), Kind: kind, Turn: &t})
	}
	for i, m := range is.list {
		old, there := was.at[m.Name]
		if !there {
			whole(added, m, i)
			continue
		}
		parts, _ := difference(old, m.Value, maxChanges)
		if len(parts) == 0 {
			continue
		}
		c := changeView{Path: joinPath(state.KeyMessages, m.Name), Kind: changed, Message: roleOf(m.Value)}
		for _, part := range parts {
			c.Parts = append(c.Parts, viewChange(part, work))
		}
		add(c)
	}
	for i, m := range was.list {
		if _, there := is.at[m.Name]; !there {
			whole(removed, m, i)
		}
	}
	if len(was.list) == len(is.list) && reordered(was, is) {
		add(changeView{Path: state.KeyMessages, Kind: changed, After: cutText{Text: "The messages are in another order."}})
	}
	return list, more
}

func orEmptyList(b json.RawMessage) json.RawMessage {
	if rawjson.IsNull(b) {
		return json.RawMessage("[]")
	}
	return b
}

// viewChange compares texts word by word, and shows other values as JSON.
func viewChange(c change, work *int) changeView {
	v := changeView{Path: c.path, Kind: c.kind}
	was, text := rawjson.Text(c.before)
	is, also := rawjson.Text(c.after)
	if text && also {
		v.Words = shortened(wordDifference(was, is, work))
		return v
	}
	v.Before, v.After = shownValue(c.before), shownValue(c.after)
	return v
}

func shownValue(value json.RawMessage) cutText {
	if text, ok := rawjson.Text(value); ok {
		return cut(text)
	}
	return pretty(value)
}

// shortened cuts compared texts: the common parts to their ends next to differences, the others to their beginnings.
func shortened(list []piece) []piece {
	for i := range list {
		p, first, last := &list[i], maxAround, maxAround
		switch {
		case p.Kind != inBoth:
			first, last = maxText, 0
		case i == 0:
			first = 0
		case i == len(list)-1:
			last = 0
		}
		p.Text = endsOf(p.Text, first, last)
	}
	return list
}

// endsOf returns at most first bytes of the beginning and last bytes of the end of a text, in whole runes.
func endsOf(text string, first, last int) string {
	at := len(text) - last
	if at <= first {
		return text
	}
	for first > 0 && !utf8.RuneStart(text[first]) {
		first--
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[:first] + "…" + text[at:]
}
