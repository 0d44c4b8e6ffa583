package backend

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// What servers that do not know the stream mode "tools" answer: LangGraph's for JavaScript of version 1.1, and
// FastAPI's.
const (
	zodWithoutTools  = `{"success":false,"error":{"issues":[{"code":"invalid_union","unionErrors":[{"issues":[{"received":"tools","code":"invalid_enum_value","path":["stream_mode",6],"message":"Invalid enum value. Expected 'values' | 'updates', received 'tools'"}],"name":"ZodError"}]}],"name":"ZodError"}}`
	fastWithoutTools = `{"detail":[{"type":"literal_error","loc":["body","stream_mode",6],"msg":"Input should be 'values' or 'updates'","input":"tools"}]}`
)

// The streaming protocol asks for tools in each of its runs: a server that does not know the mode is asked again
// without it, once, and not for it any more.
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
