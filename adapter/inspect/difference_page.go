package inspect

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/state"
)

const (
	maxChanges = 100
	// maxAround is the length of the equal text that is shown on each side of a difference, in bytes.
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
	Before  passage      `json:"before,omitzero"`
	After   passage      `json:"after,omitzero"`
}

// passage is the part of a value that differs, with the equal text around it if it is part of a longer text.
type passage struct {
	Lead string `json:"lead,omitempty"`
	Text string `json:"text"`
	Tail string `json:"tail,omitempty"`
	Cut  int    `json:"cut,omitempty"` // the number of bytes omitted at the end of Text
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
		ThreadID: to.ThreadID, From: from.Checkpoint, FromStep: stepName(stepOf(from), from.Parent), To: to.Checkpoint, ToStep: stepName(stepOf(to), to.Parent),
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

// stepOf returns the number of a checkpoint's step.
func stepOf(st adapter.ThreadState) int {
	n, _ := strconv.Atoi(rawjson.ScalarText(rawjson.Get(st.Metadata, "step")))
	return n
}

// stepName names the step of a checkpoint. LangGraph numbers the input -1.
func stepName(step int, parent string) string {
	switch {
	case step >= 0:
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
	list = []changeView{}
	was, is := rawjson.Get(before, state.KeyMessages), rawjson.Get(after, state.KeyMessages)
	if isList(was) && isList(is) {
		list, more = messageChanges(was, is, most)
		before, after = withoutMessages(before), withoutMessages(after)
	}
	rest, further := difference(before, after, most-len(list))
	for _, c := range rest {
		list = append(list, viewChange(c))
	}
	return list, more || further
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
func messageChanges(before, after json.RawMessage, most int) (list []changeView, more bool) {
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
			c.Parts = append(c.Parts, viewChange(part))
		}
		add(c)
	}
	for i, m := range was.list {
		if _, there := is.at[m.Name]; !there {
			whole(removed, m, i)
		}
	}
	if len(was.list) == len(is.list) && reordered(was, is) {
		add(changeView{Path: state.KeyMessages, Kind: changed, After: passage{Text: "The messages are in another order."}})
	}
	return list, more
}

func orEmptyList(b json.RawMessage) json.RawMessage {
	if rawjson.IsNull(b) {
		return json.RawMessage("[]")
	}
	return b
}

// viewChange shows texts as they are, with the differing part marked, and other values as JSON.
func viewChange(c change) changeView {
	v := changeView{Path: c.path, Kind: c.kind}
	was, text := rawjson.Text(c.before)
	is, also := rawjson.Text(c.after)
	if text && also {
		v.Before, v.After = passages(was, is)
		return v
	}
	v.Before, v.After = wholePassage(c.before), wholePassage(c.after)
	return v
}

func wholePassage(value json.RawMessage) passage {
	if text, ok := rawjson.Text(value); ok {
		return differing(text)
	}
	p := pretty(value)
	return passage{Text: p.Text, Cut: p.Cut}
}

func differing(text string) passage {
	c := cut(text)
	return passage{Text: c.Text, Cut: c.Cut}
}

// passages returns the differing parts of two texts, which begin and end between words if possible, with the ends of
// the equal texts around them.
func passages(before, after string) (was, is passage) {
	begin := equalStart(before, after)
	if !betweenWords(before, begin) || !betweenWords(after, begin) {
		begin = wordStart(before, begin)
	}
	a, b := before[begin:], after[begin:]
	end := equalEnd(a, b)
	if !betweenWords(a, len(a)-end) || !betweenWords(b, len(b)-end) {
		end -= restOfWord(a[len(a)-end:])
	}
	lead, tail := lastBytes(before[:begin], maxAround), firstBytes(a[len(a)-end:], maxAround)
	was, is = differing(a[:len(a)-end]), differing(b[:len(b)-end])
	was.Lead, was.Tail, is.Lead, is.Tail = lead, tail, lead, tail
	return was, is
}

// equalStart returns the length of the common beginning of two texts, in bytes of whole runes.
func equalStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) || n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// equalEnd returns the length of the common end of two texts, in bytes of whole runes.
func equalEnd(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}

// maxWord is the length, in bytes, up to which a difference inside a word is extended to the whole word.
const maxWord = 24

const spaces = " \n\t"

func betweenWords(text string, at int) bool {
	return at == 0 || at == len(text) || strings.IndexByte(spaces, text[at-1]) >= 0 || strings.IndexByte(spaces, text[at]) >= 0
}

// wordStart returns the place at which the word around a place begins.
func wordStart(text string, at int) int {
	if start := strings.LastIndexAny(text[:at], spaces) + 1; at-start <= maxWord {
		return start
	}
	return at
}

// restOfWord returns the length of the rest of a word with which a text begins.
func restOfWord(text string) int {
	n := strings.IndexAny(text, spaces)
	if n < 0 {
		n = len(text)
	}
	if n > maxWord {
		return 0
	}
	return n
}

func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return "…" + text[at:]
}

func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
