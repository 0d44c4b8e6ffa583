package state

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func mustFold(t testing.TB, s string) *Fold {
	t.Helper()
	f, err := NewFold(raw(s))
	if err != nil {
		t.Fatalf("NewFold(%s): %v", s, err)
	}
	return f
}

func TestNewFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{``, `{}`}, {`{}`, `{}`}, {`null`, `{}`},
		{`{"n": 1.50e+2, "s":"\u0000\ud83d"}`, `{"n":1.50e+2,"s":"\u0000\ud83d"}`},
		{` { "b" : [ 1 , {"x": 2} ] , "a" : { "k" : [ 1, 2 ] } } `, `{"b":[1,{"x": 2}],"a":{"k":[ 1, 2 ]}}`},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{`{"messages":[],"files":{}}`, `{"messages":[],"files":{}}`},
	} {
		f := mustFold(t, c.in)
		if got := string(f.JSON()); got != c.want {
			t.Errorf("NewFold(%s) = %s, want %s", c.in, got, c.want)
		}
		if f.Size() != len(f.JSON()) {
			t.Errorf("NewFold(%s).Size() = %d, want %d", c.in, f.Size(), len(f.JSON()))
		}
	}
	for _, in := range []string{`[]`, `1`, `{"a"}`, `{"a":01}`, `{"a":1} x`, `{"a":"` + "\n" + `"}`, `{`} {
		if _, err := NewFold(raw(in)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("NewFold(%s) = %v, want Invalid", in, err)
		}
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ state, delta, want string }{
		"append":            {`{}`, `{"messages":[{"id":"a","content":"1"}]}`, `{"messages":[{"id":"a","content":"1"}]}`},
		"one message":       {`{}`, `{"messages":{"id":"a"}}`, `{"messages":[{"id":"a"}]}`},
		"replace by id":     {`{"messages":[{"id":"a","v":1},{"id":"b"}]}`, `{"messages":[{"v":2,"id":"a"},{"id":"c"}]}`, `{"messages":[{"v":2,"id":"a"},{"id":"b"},{"id":"c"}]}`},
		"twice in a delta":  {`{}`, `{"messages":[{"id":"a","v":1},{"id":"a","v":2}]}`, `{"messages":[{"id":"a","v":2}]}`},
		"without id":        {`{"messages":[{"v":1}]}`, `{"messages":[{"v":1}]}`, `{"messages":[{"v":1},{"v":1}]}`},
		"null messages":     {`{"messages":[{"id":"a"}]}`, `{"messages":null}`, `{"messages":[{"id":"a"}]}`},
		"files":             {`{"files":{"/a":"1","/b":"2"}}`, `{"files":{"/b":null,"/c":"3","/a":"4"}}`, `{"files":{"/a":"4","/c":"3"}}`},
		"files bare path":   {`{"files":{"/a":"1","/b":"2"}}`, `{"files":{"a":"4","b":null}}`, `{"files":{"/a":"4"}}`},
		"files appear":      {`{"x":1}`, `{"files":{"/a":"1","/b":null}}`, `{"x":1,"files":{"/a":"1"}}`},
		"files no object":   {`{"files":{"/a":"1"}}`, `{"files":[1]}`, `{"files":[1]}`},
		"other keys":        {`{"x":{"a":1},"y":2}`, `{"x":{"b":null},"z":null}`, `{"x":{"b":null},"y":2,"z":null}`},
		"messages no array": {`{"messages":"odd"}`, `{"messages":[{"id":"a"}]}`, `{"messages":[{"id":"a"}]}`},
		"null delta":        {`{"x":1}`, `null`, `{"x":1}`},
		"verbatim":          {`{}`, `{"messages":[{"id":"a","content":"é\u0000","n":1E400}]}`, `{"messages":[{"id":"a","content":"é\u0000","n":1E400}]}`},
	} {
		f := mustFold(t, c.state)
		next, err := f.Reduce(raw(c.delta))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(next.JSON()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if next.Size() != len(next.JSON()) {
			t.Errorf("%s: Size() = %d, JSON() has %d", name, next.Size(), len(next.JSON()))
		}
		if got := mustFold(t, c.state).JSON(); string(got) != string(f.JSON()) {
			t.Errorf("%s: the previous fold changed: %s", name, f.JSON())
		}
	}
	for _, delta := range []string{`[]`, `1`, `{"messages":[}`, `{"messages":[1,]}`, `{"files":{"a"}}`, `{"x":tru}`} {
		if _, err := mustFold(t, `{}`).Reduce(raw(delta)); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("Reduce(%s) = %v, want Invalid", delta, err)
		}
	}
}

// Two successors of one fold are independent, even if they share memory.
func TestReduceBranches(t *testing.T) {
	t.Parallel()
	base := mustFold(t, `{"messages":[{"id":"0"}]}`)
	grow := func(f *Fold, from, to int, tag string) *Fold {
		for i := from; i < to; i++ {
			var err error
			if f, err = f.Reduce(raw(fmt.Sprintf(`{"messages":[{"id":"%s%d"}]}`, tag, i))); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	mid := grow(base, 0, 20, "m")
	var left, right, replaced *Fold
	var wait sync.WaitGroup
	wait.Go(func() { left = grow(mid, 0, 30, "l") })
	wait.Go(func() { right = grow(mid, 0, 30, "r") })
	wait.Go(func() { replaced, _ = mid.Reduce(raw(`{"messages":[{"id":"m3","v":1},{"id":"l3"}]}`)) })
	wait.Wait()
	for _, c := range []struct {
		f    *Fold
		n    int
		last string
	}{{mid, 21, "m19"}, {left, 51, "l29"}, {right, 51, "r29"}, {replaced, 22, "l3"}} {
		list := c.f.Messages()
		if len(list) != c.n || IDOfMessage(list[len(list)-1]) != c.last {
			t.Errorf("got %d messages, the last %s, want %d, %s", len(list), list[len(list)-1], c.n, c.last)
		}
	}
	if got := string(mid.Messages()[4]); got != `{"id":"m3"}` {
		t.Errorf("a replacement changed an older fold: %s", got)
	}
	if got, _ := left.Reduce(raw(`{"messages":[{"id":"r5"}]}`)); len(got.Messages()) != 52 {
		t.Errorf("a message of another branch is treated as known")
	}
}

func TestApplyQuestions(t *testing.T) {
	t.Parallel()
	ask := func(ids ...string) (list []mapping.Interrupt) {
		for _, id := range ids {
			list = append(list, mapping.Interrupt{ID: id})
		}
		return list
	}
	f := mustFold(t, `{"x":1}`)
	for _, c := range []struct {
		name string
		ev   mapping.Event
		want []mapping.Interrupt
	}{
		{"interrupt", mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: ask("a")}}, ask("a")},
		{"a second, and the first again", mapping.Event{Kind: mapping.KindInterrupt, Head: mapping.Head{Interrupts: ask("a", "b")}}, ask("a", "b")},
		{"token", mapping.Event{Kind: mapping.KindDelta, Data: raw(`[]`)}, ask("a", "b")},
		{"end that waits", mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted}}}, ask("a", "b")},
		{"end with its question", mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: ask("c")}}}, ask("c")},
		{"state update between runs", mapping.Event{Kind: mapping.KindState, Data: raw(`{"set":{"x":2}}`)}, ask("c")},
		{"next run", mapping.Event{Kind: mapping.KindStarted}, nil},
		{"asking step", mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"x":3}`), Head: mapping.Head{Reduce: true, Interrupts: ask("d")}}, ask("d")},
		{"cancelled", mapping.Event{Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Cancelled: true}}}, nil},
	} {
		next, err := f.Apply(&c.ev)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, next.Interrupts()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		f = next
	}
	if got := string(f.JSON()); got != `{"x":3}` {
		t.Errorf("state = %s", got)
	}
	if next, err := f.Apply(&mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"x":9}`)}); err != nil || next != f {
		t.Errorf("an update of an agent with its own state changed the fold: %s, %v", next.JSON(), err)
	}
}

func TestDiffTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, diff, state string }{
		"same":                {`{"a":1,"m":[1,2],"o":{"x":1}}`, `{ "o":{"x":1}, "m":[1, 2],"a":1}`, ``, `{"a":1,"m":[1,2],"o":{"x":1}}`},
		"set and delete":      {`{"a":1,"b":2}`, `{"b":3,"c":null}`, `{"del":["a"],"set":{"b":3,"c":null}}`, `{"b":3,"c":null}`},
		"append":              {`{"messages":[{"id":"1"},{"id":"2"}]}`, `{"messages":[{"id":"1"},{"id":"2"},{"id":"3"}]}`, `{"list":{"messages":{"keep":2,"add":[{"id":"3"}]}}}`, `{"messages":[{"id":"1"},{"id":"2"},{"id":"3"}]}`},
		"cut":                 {`{"m":[1,2,3]}`, `{"m":[1]}`, `{"list":{"m":{"keep":1}}}`, `{"m":[1]}`},
		"number that grows":   {`{"m":[1,2]}`, `{"m":[1,23]}`, `{"list":{"m":{"keep":1,"add":[23]}}}`, `{"m":[1,23]}`},
		"nothing in common":   {`{"m":[1,2]}`, `{"m":[3]}`, `{"set":{"m":[3]}}`, `{"m":[3]}`},
		"emptied":             {`{"m":[1,2],"o":{"a":1}}`, `{"m":[],"o":{}}`, `{"set":{"m":[],"o":{}}}`, `{"m":[],"o":{}}`},
		"object merged":       {`{"o":{"a":"long enough to be worth it","b":2,"c":3}}`, `{"o":{"c":null,"a":"long enough to be worth it","d":4}}`, `{"merge":{"o":{"del":["b"],"set":{"c":null,"d":4}}}}`, `{"o":{"a":"long enough to be worth it","c":null,"d":4}}`},
		"kind changes":        {`{"a":[1],"b":{"x":1},"c":1}`, `{"a":{"x":1},"b":1,"c":[1]}`, `{"set":{"a":{"x":1},"b":1,"c":[1]}}`, `{"a":{"x":1},"b":1,"c":[1]}`},
		"escaped key":         {`{"\u0061":1}`, `{"a":2}`, `{"set":{"\u0061":2}}`, `{"\u0061":2}`},
		"cleared":             {`{"a":1}`, `null`, `{"del":["a"]}`, `{}`},
		"number prefix":       {`{"a":1}`, `{"a":12}`, `{"set":{"a":12}}`, `{"a":12}`},
		"duplicate in new":    {`{"a":1}`, `{"a":2,"a":1}`, ``, `{"a":1}`},
		"delimiters in texts": {`{"m":["a,b]"]}`, `{"m":["a,b]","c"]}`, `{"list":{"m":{"keep":1,"add":["c"]}}}`, `{"m":["a,b]","c"]}`},
	} {
		from := mustFold(t, c.from)
		diff, next, err := from.DiffTo(raw(c.to))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(diff) != c.diff || string(next.JSON()) != c.state {
			t.Errorf("%s: diff %s, state %s\nwant %s, %s", name, diff, next.JSON(), c.diff, c.state)
		}
		applied, err := mustFold(t, c.from).Apply(&mapping.Event{Kind: mapping.KindState, Data: diff})
		if err != nil || string(applied.JSON()) != c.state || applied.Size() != len(c.state) {
			t.Errorf("%s: applied: %s (size %d), %v", name, applied.JSON(), applied.Size(), err)
		}
	}
}

func TestDiffSizeIsThatOfTheChange(t *testing.T) {
	t.Parallel()
	state := bigState(54_000)
	f := mustFold(t, state)
	message := `{"id":"new","type":"ai","content":"` + strings.Repeat("x", 300) + `"}`
	diff, _, err := f.DiffTo(raw(strings.TrimSuffix(state, "]}") + "," + message + "]}"))
	if err != nil || len(diff) > len(message)+60 {
		t.Errorf("the diff of one message of %d bytes has %d: %v", len(message), len(diff), err)
	}
}

func TestApplyBadDiff(t *testing.T) {
	t.Parallel()
	f := mustFold(t, `{"m":[1],"o":{"a":1}}`)
	for _, diff := range []string{`[]`, `{"del":1}`, `{"del":[1]}`, `{"set":[]}`, `{"list":{"m":{"keep":2}}}`,
		`{"list":{"m":{"keep":-1}}}`, `{"list":{"o":{"keep":0}}}`, `{"list":{"m":{}}}`, `{"list":{"m":{"keep":0,"add":1}}}`,
		`{"merge":{"m":{}}}`, `{"merge":{"x":{"set":{}}}}`, `{"merge":{"o":{"del":"a"}}}`} {
		if _, err := f.Apply(&mapping.Event{Kind: mapping.KindState, Data: raw(diff)}); mapping.Classify(err).Class != mapping.Internal {
			t.Errorf("Apply(%s) = %v, want an error of class internal", diff, err)
		}
	}
}

// bigState returns a chat of about n bytes that ends in "]}".
func bigState(n int) string {
	var b strings.Builder
	b.WriteString(`{"title":"a chat","messages":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"content":%q,"additional_kwargs":{},"response_metadata":{},"id":%q,"type":"ai","tool_calls":[],"invalid_tool_calls":[]}`,
			strings.Repeat("word ", 50), mapping.MessageID("state", fmt.Sprint(i)))
	}
	b.WriteString("]}")
	return b.String()
}

func TestFoldReads(t *testing.T) {
	t.Parallel()
	f := mustFold(t, `{"n":1.0,"l":[1, 2],"o":{"a": 1},"messages":[]}`)
	for key, want := range map[string]string{"n": "1.0", "l": "[1,2]", "o": `{"a":1}`, "messages": "[]", "none": ""} {
		if got := string(f.Get(key)); got != want {
			t.Errorf("Get(%s) = %s, want %s", key, got, want)
		}
	}
	if f.Messages() != nil || f.Interrupts() != nil {
		t.Errorf("messages %v, interrupts %v", f.Messages(), f.Interrupts())
	}
	full, err := f.Apply(&mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Full: true}, Data: raw(`{"l":[1,2,3]}`)})
	if err != nil || string(full.JSON()) != `{"l":[1,2,3]}` {
		t.Errorf("a full state: %s, %v", full.JSON(), err)
	}
	if _, err := f.Apply(&mapping.Event{Kind: mapping.KindState, Head: mapping.Head{Full: true}, Data: raw(`[]`)}); mapping.Classify(err).Class != mapping.Invalid {
		t.Errorf("a list as full state: %v", err)
	}
}

// An older list only finds its own elements, even if an id was used again later.
func TestOldListFinds(t *testing.T) {
	t.Parallel()
	old := newList([]json.RawMessage{raw(`{"id":"a"}`), raw(`{"id":"b"}`), raw(`{"id":"a"}`)})
	young := old.append([]json.RawMessage{raw(`{"id":"a"}`), raw(`{"id":"c"}`)})
	for _, c := range []struct {
		l    *list
		id   string
		want int
	}{{old, "a", 2}, {young, "a", 3}, {old, "c", -1}, {young, "c", 4}, {young, "x", -1}} {
		if got := c.l.find(c.id); got != c.want {
			t.Errorf("find(%s) of %d = %d, want %d", c.id, len(c.l.elems), got, c.want)
		}
	}
}

// If the states in between are not needed, small differences to a large object cost only their changes. A state with
// many changes is therefore read about as fast as any other.
func TestManyDifferencesCostOnlyTheirChanges(t *testing.T) { // not parallel, because it measures allocations
	files := []byte(`{"files":{`)
	for n := range 10_000 {
		files = fmt.Appendf(files, `"/f%d":"x",`, n)
	}
	files = append(files, `"/last":"x"}}`...)
	fold := mustFold(t, string(files))
	cost := func(diffs int) uint64 {
		var events []mapping.Event
		for n := range diffs {
			events = append(events, mapping.Event{Kind: mapping.KindState, Data: fmt.Appendf(nil, `{"merge":{"files":{"set":{"/f%d":"y%d"}}}}`, n, n)})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := fold.ApplyAll(events); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := cost(2), cost(1000)
	t.Logf("%d kB for two differences, %d kB for a thousand", few>>10, many>>10)
	if many > 3*few {
		t.Errorf("a thousand differences cost %d kB, two %d kB", many>>10, few>>10)
	}
}
