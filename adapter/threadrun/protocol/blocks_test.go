package protocol

import (
	"bytes"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// says1 returns a chunk with text of the message m1, and calls1 a chunk with a piece of a call.
func says1(text string) mapping.Event { return piece("m1", "plan:t1", `"content":"`+text+`"`) }

func calls1(pieces string) mapping.Event {
	return piece("m1", "plan:t1", `"content":"","tool_call_chunks":[`+pieces+`]`)
}

// An agent's chunks become complete blocks that neither interleave nor repeat.
func TestBlocksOfAMessageAreWhole(t *testing.T) {
	t.Parallel()
	const (
		begins = `{"id":"c1","name":"look","args":"{\"a\"","index":0}`
		goesOn = `{"args":":[1,\"}\\\"]\"]","index":0}`
		ends   = `{"args":"}","index":0}`
		look   = `{"type":"tool_call","id":"c1","name":"look","args":{"a":[1,"}\"]"]}}`
	)
	text := func(words string) string { return `{"type":"text","text":"` + words + `"}` }
	call := func(id, args string) string {
		return `{"type":"tool_call","id":"` + id + `","name":"look","args":` + args + `}`
	}
	for name, tt := range map[string]struct {
		chunks []mapping.Event
		want   []string
	}{
		"words amid a call": {
			[]mapping.Event{says1("let "), calls1(begins), says1("me "), calls1(goesOn), says1("see"), calls1(ends), says1(" it")},
			[]string{text("let "), look, text("me see it")},
		},
		"words and a piece in one chunk": {
			[]mapping.Event{calls1(begins), piece("m1", "plan:t1", `"content":"hm","tool_call_chunks":[`+goesOn+`]`), calls1(ends)},
			[]string{look, text("hm")},
		},
		"another call amid a call": {
			[]mapping.Event{calls1(begins), calls1(`{"id":"c2","name":"look","args":"{\"b\":","index":1}`), calls1(goesOn), calls1(`{"args":"2","index":1}`), calls1(ends + `,{"args":"}","index":1}`)},
			[]string{look, call("c2", `{"b":2}`)},
		},
		"calls that share an index": {
			[]mapping.Event{calls1(`{"id":"c1","name":"look","args":"{\"a\":1}","index":0}`), calls1(`{"id":"c2","name":"look","args":"{\"a\":","index":0}`), calls1(`{"args":"2}","index":0}`)},
			[]string{call("c1", `{"a":1}`), call("c2", `{"a":2}`)},
		},
		"a picture amid a call": {
			[]mapping.Event{calls1(begins + `,` + goesOn), piece("m1", "plan:t1", `"content":[{"type":"image","url":"x"},{"type":"text","text":"so"}]`), calls1(ends)},
			[]string{look, `{"type":"image","url":"x"}`, text("so")},
		},
		"a whole call amid a call": {
			[]mapping.Event{calls1(begins + `,` + goesOn), piece("m1", "plan:t1", `"content":"","tool_calls":[{"id":"c1","name":"look","args":{}},{"id":"c2","name":"look","args":{"b":1}}]`), calls1(ends)},
			[]string{look, call("c2", `{"b":1}`)},
		},
		"a whole call that was told in pieces": {
			[]mapping.Event{calls1(begins + `,` + goesOn + `,` + ends), says1("so"), piece("m1", "plan:t1", `"content":"","tool_calls":[{"id":"c1","name":"look","args":{}}]`)},
			[]string{look, text("so")},
		},
		"a call without arguments": {
			[]mapping.Event{calls1(`{"id":"c1","name":"look","args":"","index":0}`), says1("done")},
			[]string{call("c1", `{}`), text("done")},
		},
		"a call that is never whole": {
			[]mapping.Event{calls1(begins), says1("oh")},
			[]string{`{"type":"invalid_tool_call","id":"c1","name":"look","args":"{\"a\"","error":"The arguments are not a JSON object."}`, text("oh")},
		},
		"pieces of a call that was told whole": {
			[]mapping.Event{piece("m1", "plan:t1", `"content":"","tool_calls":[{"id":"c1","name":"look","args":{}}]`), calls1(begins), calls1(goesOn + `,` + ends)},
			[]string{call("c1", `{}`)},
		},
		"a piece of a call that was told": {
			[]mapping.Event{calls1(begins + `,` + goesOn + `,` + ends), says1("so"), calls1(`{"args":" ","index":0},{"id":"c1","name":"look","args":"{}","index":0}`)},
			[]string{look, text("so")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := append(append([]mapping.Event{started()}, tt.chunks...), succeeded())
			w := newWorld().play(runOf(1, "graph"), events...)
			if d := cmp.Diff(tt.want, blocksOf(t, told(t, w, all(), Snake))); d != "" {
				t.Error(d)
			}
		})
	}
}

// Once the arguments of a call are complete, text after it is emitted as it arrives.
func TestTextAfterACallDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started(), calls1(`{"id":"c1","name":"look","args":"{\"a\":1}","index":0}`), says1("so"))
	if got := told(t, w, all(), Snake); !bytes.Contains(got, []byte(`"text":"so"`)) {
		t.Errorf("the text was held back:\n%s", got)
	}
}

// blocksOf returns the final blocks of a client. It checks that each block begins after the end of the previous one and
// that the pieces of a block add up to the whole.
func blocksOf(t *testing.T, lines []byte) (list []string) {
	t.Helper()
	open, sum := false, ""
	for line := range bytes.Lines(lines) {
		data := member(member(raw(string(line)), "params"), "data")
		index, has := whole(member(data, "index"))
		if !has {
			continue
		}
		if index != int64(len(list)) {
			t.Errorf("block %d during block %d: %s", index, len(list), line)
		}
		delta, content := member(data, "delta"), member(data, "content")
		switch rawjson.GetText(data, "event") {
		case "content-block-start":
			if open {
				t.Errorf("the previous block has not ended: %s", line)
			}
			open, sum = true, ""
		case "content-block-delta":
			sum += rawjson.GetText(delta, "text") + rawjson.GetText(delta, "args")
		case "content-block-finish":
			if args := string(member(content, "args")); sum != "" && sum != rawjson.GetText(content, "text") && sum != args && sum != rawjson.GetText(content, "args") {
				t.Errorf("the pieces are %s: %s", sum, line)
			}
			open, list = false, append(list, string(content))
		}
	}
	return list
}
