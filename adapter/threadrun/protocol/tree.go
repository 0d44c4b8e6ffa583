package protocol

import (
	"slices"
	"strings"
)

// Statuses of a graph (CDDL, AgentStatus).
const (
	statusStarted     = "started"
	statusRunning     = "running"
	statusCompleted   = "completed"
	statusFailed      = "failed"
	statusInterrupted = "interrupted"
)

// tree holds the known graphs within a run's graph. A namespace is emitted as started with its first event and as ended
// with its task.
type tree struct {
	graph  string
	places []*branch // in order of appearance
}

type branch struct {
	namespace []string
	status    string
	plain     bool // a node without a known graph
}

func newTree(graph string) tree { return tree{graph: graph} }

// reach emits the graph of a namespace and its enclosing graphs as started.
func (tr *tree) reach(out *emitter, ns []string) {
	for n := 1; n <= len(ns); n++ {
		b := tr.find(ns[:n:n])
		if b != nil && !b.plain {
			continue
		}
		if b == nil {
			b = tr.add(ns[:n:n])
		}
		b.status, b.plain = statusStarted, false
		out.branch(b)
	}
}

// reachNode emits a node and its enclosing graphs as started. The namespace of messages and tools ends with their node,
// whether or not it is a graph.
func (tr *tree) reachNode(out *emitter, ns []string) {
	if len(ns) == 0 {
		return
	}
	tr.reach(out, ns[:len(ns)-1])
	if tr.find(ns) == nil {
		b := tr.add(ns)
		b.plain = true
		out.branch(b)
	}
}

func (tr *tree) add(ns []string) *branch {
	b := &branch{namespace: ns, status: statusStarted}
	tr.places = append(tr.places, b)
	return b
}

func (tr *tree) find(ns []string) *branch {
	for _, b := range tr.places {
		if slices.Equal(b.namespace, ns) {
			return b
		}
	}
	return nil
}

// graphOf guesses the name of a graph from its namespace. It uses the name of the graph's node.
func graphOf(ns []string) string {
	name, _, _ := strings.Cut(ns[len(ns)-1], ":")
	return name
}

// complete emits the namespaces of nodes with output in ns as completed.
func (tr *tree) complete(out *emitter, ns []string, nodes []output) {
	for _, n := range nodes {
		tr.endBelow(out, ns, n.name, statusCompleted)
	}
}

// endBelow ends the namespaces below one node or task of a namespace, innermost first.
func (tr *tree) endBelow(out *emitter, ns []string, segment, status string) {
	prefix := append(slices.Clone(ns), segment)
	tr.endWhere(out, status, func(b *branch) bool { return isPrefix(prefix, b.namespace) })
}

func (tr *tree) endAll(out *emitter, status string) {
	tr.endWhere(out, status, func(*branch) bool { return true })
}

func (tr *tree) endWhere(out *emitter, status string, ends func(*branch) bool) {
	for _, b := range slices.Backward(tr.places) {
		if b.status == statusStarted && ends(b) {
			b.status = status
			out.branch(b)
		}
	}
}

// encode writes a node of the tree (CDDL, AgentTreeNode).
func (tr *tree) encode(w *writer, ns []string, status string) {
	w.open().texts("namespace", ns).text("status", status)
	if len(ns) == 0 {
		w.text("graph_name", tr.graph)
	} else {
		w.text("graph_name", graphOf(ns))
	}
	if children := tr.children(ns); len(children) > 0 {
		w.Key("children").Open('[')
		for _, b := range children {
			tr.encode(w, b.namespace, b.status)
		}
		w.Close(']')
	}
	w.close()
}

func (tr *tree) children(ns []string) (list []*branch) {
	for _, b := range tr.places {
		if len(b.namespace) == len(ns)+1 && slices.Equal(b.namespace[:len(ns)], ns) {
			list = append(list, b)
		}
	}
	return list
}
