package protocol

import "github.com/apbridge/apbridge/mapping/state"

// emitter emits and numbers the events of an entry. It is not safe for concurrent use.
type emitter struct {
	emit func(ev *event, at position)
	at   position
}

// send emits the next event of the entry.
func (out *emitter) send(method string, ns []string, data func(w *writer)) {
	out.sendEvent(&event{method: method, namespace: ns, data: data})
}

func (out *emitter) sendEvent(ev *event) {
	out.emit(ev, out.at)
	out.at.k++
}

// lifecycle emits the status of a run, which is the status of the root.
func (out *emitter) lifecycle(run, status, graph, fault string) {
	out.sendEvent(&event{method: channelLifecycle, run: run, ends: status != statusRunning, data: func(w *writer) {
		w.open().text("event", status).some("graph_name", graph).some("error", fault).close()
	}})
}

// branch emits the status of a namespace below the root.
func (out *emitter) branch(b *branch) {
	status := b.status
	out.sendEvent(&event{method: channelLifecycle, namespace: b.namespace, plain: b.plain, data: func(w *writer) {
		w.open().text("event", status).some("graph_name", graphOf(b.namespace)).close()
	}})
}

// values emits the state after an entry.
func (out *emitter) values(e *state.Entry) {
	out.send(channelValues, nil, func(w *writer) { w.state(e.After) })
}
