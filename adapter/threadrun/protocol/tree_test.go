package protocol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// lifecycles returns the namespaces and statuses for a reader of the lifecycle channel.
func lifecycles(t *testing.T, w *world, namespaces ...[]string) (list []string) {
	t.Helper()
	f := filter{channels: []string{channelLifecycle}, namespaces: namespaces, depth: -1}
	for line := range bytes.Lines(told(t, w, f, Snake)) {
		params := member(raw(string(line)), "params")
		ns, _ := textsOf(member(params, "namespace"))
		list = append(list, strings.Join(append([]string{"root"}, ns...), "|")+" "+rawjson.GetText(member(params, "data"), "event"))
	}
	return list
}

// The lifecycle of a plain node is only sent to a reader of a namespace below the root.
func TestLifecyclesOfPlainNodesNeedANamespace(t *testing.T) {
	t.Parallel()
	root := []string{"root running", "root completed"}
	words := func(ns string) mapping.Event { return piece("m-"+ns, ns, `"content":"hi"`) }
	tool := chunk("tools", `{"event":"on_tool_start","toolCallId":"c1","name":"look"}`, "tools:t3")
	inner := chunk("values", `{}`, "plan:t1")
	done := chunk("tasks", `{"id":"t1","name":"plan","result":{},"interrupts":[]}`)
	for name, tt := range map[string]struct {
		events      []mapping.Event
		watch, plan []string // sent without namespaces, and for the namespace plan
	}{
		"a node that streams a message":    {[]mapping.Event{words("plan:t1"), done}, root, []string{"root|plan:t1 started", "root|plan:t1 completed"}},
		"a node that calls a tool":         {[]mapping.Event{tool}, root, nil},
		"a graph":                          {[]mapping.Event{inner, done}, []string{root[0], "root|plan:t1 started", "root|plan:t1 completed", root[1]}, []string{"root|plan:t1 started", "root|plan:t1 completed"}},
		"a graph whose node streams":       {[]mapping.Event{words("plan:t1|deep:t2"), done}, []string{root[0], "root|plan:t1 started", "root|plan:t1 completed", root[1]}, []string{"root|plan:t1 started", "root|plan:t1|deep:t2 started", "root|plan:t1|deep:t2 completed", "root|plan:t1 completed"}},
		"a node that proves to be a graph": {[]mapping.Event{words("plan:t1"), inner, done}, []string{root[0], "root|plan:t1 started", "root|plan:t1 completed", root[1]}, []string{"root|plan:t1 started", "root|plan:t1 started", "root|plan:t1 completed"}},
	} {
		w := newWorld().play(runOf(1, "graph"), started()).play(runOf(1, "graph"), tt.events...).play(runOf(1, "graph"), succeeded())
		for _, all := range [][][]string{nil, {{}}} {
			if d := cmp.Diff(tt.watch, lifecycles(t, w, all...)); d != "" {
				t.Errorf("%s, for %q: %s", name, all, d)
			}
		}
		if d := cmp.Diff(tt.plan, lifecycles(t, w, []string{"plan"})); d != "" {
			t.Errorf("%s, below the root: %s", name, d)
		}
	}
}
