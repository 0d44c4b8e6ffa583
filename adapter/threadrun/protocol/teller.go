package protocol

import "github.com/apbridge/apbridge/mapping/state"

// teller emits the events of an entry, and numbers them. Not for concurrent use.
type teller struct {
	emit func(ev *event, at place)
	at   place
}

// send emits the next event of the entry.
func (out *teller) send(method string, ns []string, data func(w *writer)) {
	out.sendEvent(&event{method: method, namespace: ns, data: data})
}

func (out *teller) sendEvent(ev *event) {
	out.emit(ev, out.at)
	out.at.k++
}

func (out *teller) lifecycle(ns []string, status, graph, fault string) {
	ends := len(ns) == 0 && status != statusRunning
	out.sendEvent(&event{method: channelLifecycle, namespace: ns, ends: ends, data: func(w *writer) {
		w.open().text("event", status).some("graph_name", graph).some("error", fault).close()
	}})
}

// values tells the state after an entry.
func (out *teller) values(e *state.Entry) {
	out.send(channelValues, nil, func(w *writer) { w.state(e.After) })
}
