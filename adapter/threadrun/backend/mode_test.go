package backend

import (
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/sse"
)

// Responses of servers without the stream mode "tools": version 1.1 of LangGraph's JavaScript server, and FastAPI.
const (
	zodWithoutTools  = `{"success":false,"error":{"issues":[{"code":"invalid_union","unionErrors":[{"issues":[{"received":"tools","code":"invalid_enum_value","path":["stream_mode",6],"message":"Invalid enum value. Expected 'values' | 'updates', received 'tools'"}],"name":"ZodError"}]}],"name":"ZodError"}}`
	fastWithoutTools = `{"detail":[{"type":"literal_error","loc":["body","stream_mode",6],"msg":"Input should be 'values' or 'updates'","input":"tools"}]}`
)

// The streaming protocol requests tools in every run. If the server lacks the mode, the request is repeated once
// without it, and later requests omit it.
func TestServersWithoutTheModeTools(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{400: zodWithoutTools, 422: fastWithoutTools} {
		a := playing(adaptertest.ChatPlay())
		a.Canned = map[string]*adaptertest.Canned{routeStart: {Status: status, Type: "application/json", Body: says, Times: 1}}
		b := scripted(t, a)
		for _, want := range []int{2, 3} {
			task := adaptertest.NewTask(nil)
			task.Run.Options.StreamModes = []string{"tools", "events"}
			if tr := adaptertest.Collect(within(t), b, task, 0); tr.Err != nil {
				t.Fatal(status, tr.Err)
			}
			if got := a.Calls(routeStart); got != want {
				t.Errorf("%d: %d requests for a run, want %d", status, got, want)
			}
		}
		for i, want := range []string{`"events","tools"]`, `"checkpoints","events"]`, `"checkpoints","events"]`} {
			if got := string(a.Bodies(routeStart)[i]); !strings.Contains(got, want) {
				t.Errorf("%d: request %d lacks %s: %s", status, i, want, got)
			}
		}
	}
	a := playing(adaptertest.ChatPlay())
	a.Canned = map[string]*adaptertest.Canned{routeStart: {Status: 422, Type: "application/json", Body: `{"detail":"no"}`}}
	task := adaptertest.NewTask(nil)
	task.Run.Options.StreamModes = []string{"tools"}
	if tr := run(t, a, task); tr.Err == nil || a.Calls(routeStart) != 1 {
		t.Errorf("another refusal: %v, %d requests", tr.Err, a.Calls(routeStart))
	}
}

// The mode messages needs the tokens of inner graphs, which a server only sends with the frames of subgraphs. Only
// tokens and custom output are kept from these frames.
func TestTokensOfInnerGraphsAreAskedForInTheModeMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		modes     []string
		subgraphs bool
		asked     bool
		kept      []string
	}{
		{[]string{"messages", "values"}, false, true, []string{"delta", "custom"}},
		{[]string{"messages-tuple", "values"}, false, false, nil},
		{[]string{"messages", "events"}, false, false, nil},
		{[]string{"messages"}, true, true, []string{"delta", "custom", "update", "chunk", "chunk"}},
	} {
		task := adaptertest.NewTask(nil)
		task.Run.Options.StreamModes, task.Run.Options.Subgraphs = tt.modes, tt.subgraphs
		a := playing(adaptertest.ChatPlay())
		if tr := run(t, a, task); tr.Err != nil {
			t.Fatal(tr.Err)
		}
		if got := strings.Contains(string(a.Bodies(routeStart)[0]), `"stream_subgraphs":true`); got != tt.asked {
			t.Errorf("%s: subgraphs requested: %v", tt.modes, got)
		}
		if !tt.asked {
			continue
		}
		tr := framesOf(t, task, sse.Event{ID: "1", Name: "messages|a:1", Data: []byte(`[{"content":"a"},{}]`)}, sse.Event{ID: "2", Name: "custom|a:1", Data: []byte(`1`)},
			sse.Event{ID: "3", Name: "updates|a:1", Data: []byte(`{"n":{"x":1}}`)}, sse.Event{ID: "4", Name: "values|a:1", Data: []byte(`{"x":1}`)}, sse.Event{ID: "5", Name: "tasks|a:1", Data: []byte(`{"id":"t"}`)})
		var kept []string
		for _, ev := range tr.Events {
			kept = append(kept, string(ev.Kind))
		}
		if !slices.Equal(kept, tt.kept) {
			t.Errorf("%s: kept %s, want %s", tt.modes, kept, tt.kept)
		}
	}
}
