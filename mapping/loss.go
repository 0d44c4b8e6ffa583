package mapping

import (
	"slices"
	"strings"
	"sync"
)

// LossTranscript is the loss of a run whose conversation was too long for the
// prompt of a task/step agent: the oldest messages were left out.
const LossTranscript = "transcript"

// LossRow is what becomes of one documented request field in one direction.
type LossRow struct {
	Request string `json:"request"` // kind of request: run, task, step, thread, …
	Field   string `json:"field"`   // nested ones by dots: config.tags
	From    string `json:"from"`    // dialect of the client: threadrun or taskstep
	To      string `json:"to"`      // dialect of the agent
	Fate    Fate   `json:"fate"`
	Reason  string `json:"reason"`
}

const (
	threadrun = "threadrun"
	taskstep  = "taskstep"
)

// LossTable is every documented request field in every direction, in a fixed
// order. Callers must not change it.
func LossTable() []LossRow { return lossRows() }

var lossRows = sync.OnceValue(makeLossRows)

func makeLossRows() []LossRow {
	var rows []LossRow
	for _, g := range lossGroups() {
		for _, field := range g.fields {
			for _, way := range [...]struct {
				to  string
				was outcome
			}{{taskstep, g.toTaskstep}, {threadrun, g.toThreadrun}} {
				rows = append(rows, LossRow{g.request, field, g.from, way.to, way.was.fate, way.was.reason})
			}
		}
	}
	return rows
}

// Losses are the fields, among those a client sent to start a run or a task,
// that the agent gets only approximately or not at all. opaque: the agent is a
// task/step agent. Fields that no document names are no losses.
func Losses(from Flavour, opaque bool, fields []string) []Loss {
	dialect, request, to := threadrun, "run", threadrun
	if from == FlavourTaskStep || from == FlavourTopic {
		dialect, request = taskstep, "task"
	}
	if opaque {
		to = taskstep
	}
	var out []Loss
	for _, row := range lossRows() {
		lossy := row.Fate != Exact && row.From == dialect && row.Request == request && row.To == to
		if lossy && slices.Contains(fields, row.Field) {
			out = append(out, Loss{row.Field, row.Fate})
		}
	}
	return out
}

// LossHeader renders losses for X-Apbridge-Lossy: "field;approximated, field;dropped".
func LossHeader(losses []Loss) string {
	parts := make([]string, len(losses))
	for i, l := range losses {
		parts[i] = l.Field + ";" + string(l.Fate)
	}
	return strings.Join(parts, ", ")
}
