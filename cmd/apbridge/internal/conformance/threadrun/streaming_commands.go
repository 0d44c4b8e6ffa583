package threadrun

import (
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

func (s *streaming) commandChecks() []check.Check {
	return []check.Check{
		{ID: "streaming.run.start", Level: check.Must, Says: "The command run.start starts a run.", Cites: streamingDoc.At("4a. Run Module, run.start; 3. Top-Level Message Framing, CommandResponse"),
			Run: func(t *check.Talk) { s.run.Own(t, s.start) }},
		{ID: "streaming.run.start.names", Level: check.Must, Says: "run.start accepts the document's names, assistantId and input.", Cites: streamingDoc.At("4a. Run Module, RunStartParams"),
			Run: func(t *check.Talk) {
				if r := s.aRun(t); r.spelled != "" {
					r.refused.In(t)
					t.Fail("with assistantId: %s; with assistant_id it was accepted", r.spelled)
				}
			}},
		{ID: "streaming.run.start.id", Level: check.May, Says: "The result of run.start has a runId.", Cites: streamingDoc.At("4a. Run Module, RunResult"),
			Run: func(t *check.Talk) {
				if a := s.aRun(t).started.In(t); either(a.At("result"), "runId", "run_id") == nil && !t.Over() {
					t.Fail("the result has no runId")
				}
			}},
		{ID: "streaming.command.id", Level: check.Must, Says: "A response has the id of its command.", Cites: streamingDoc.At("3. Top-Level Message Framing, CommandResponse, id"),
			Run: func(t *check.Talk) {
				if a := s.aRun(t).started.In(t); a.At("id") != 7.0 && !t.Over() {
					t.Fail("the command has the id 7 but the response has %v", a.At("id"))
				}
			}},
		{ID: "streaming.thread", Level: check.Must, Says: "run.start creates the thread in its path.", Cites: streamingDoc.At("4. Thread-Centric Model"),
			Run: func(t *check.Talk) { t.Get(s.aRun(t).thread).Is(http.StatusOK) }},
		{ID: "streaming.command.unknown", Level: check.Must, Says: "An unknown command returns an ErrorResponse.", Cites: streamingDoc.At("3. Top-Level Message Framing, ErrorResponse and ErrorCode"),
			Run: func(t *check.Talk) { s.unknown.Own(t, s.noSuchCommand) }},
		{ID: "streaming.command.unknown.code", Level: check.Should, Says: "The error code of an unknown command is unknown_command.", Cites: streamingDoc.At("3. Top-Level Message Framing, ErrorCode"),
			Run: func(t *check.Talk) {
				s.unknown.Need(t, "error", s.noSuchCommand).In(t).Fits(failure("unknown_command"))
			}},
		{ID: "streaming.command.invalid", Level: check.Must, Says: "run.start without parameters returns an ErrorResponse.", Cites: streamingDoc.At("3. Top-Level Message Framing, ErrorResponse and ErrorCode; 4a. Run Module, RunStartParams"),
			Run: func(t *check.Talk) { s.empty.Own(t, s.emptyStart) }},
		{ID: "streaming.command.invalid.code", Level: check.Should, Says: "The error code of run.start without parameters is invalid_argument.", Cites: streamingDoc.At("3. Top-Level Message Framing, ErrorCode"),
			Run: func(t *check.Talk) { s.empty.Need(t, "error", s.emptyStart).In(t).Fits(failure("invalid_argument")) }},
		{ID: "streaming.command.malformed", Level: check.Must, Says: "A command without a method returns 422.", Cites: agentProtocolDoc.At("send_thread_streaming_command, 422; schema StreamingCommand, required"),
			Run: func(t *check.Talk) {
				t.Post(s.aRun(t).thread+"/commands", map[string]any{"id": 8}).Is(http.StatusUnprocessableEntity)
			}},
		{ID: "streaming.input.unknown", Level: check.Should, Says: "Answering a question that is not open returns the error code no_such_interrupt.", Cites: streamingDoc.At("3. Top-Level Message Framing, ErrorCode; 10. Input Module, input.respond"),
			Run: func(t *check.Talk) {
				r := s.aRun(t)
				params := map[string]any{"namespace": []any{}, "response": "yes"}
				params[map[bool]string{true: "interruptId", false: "interrupt_id"}[r.spelled == ""]] = "no-such-interrupt"
				t.Post(command(r.thread, "input.respond", params)).Fits(failure("no_such_interrupt"))
			}},
	}
}

// errorCodes are the ErrorCodes of the document.
var errorCodes = []string{
	"invalid_argument", "unknown_command", "unknown_error", "no_such_run", "no_such_subscription", "no_such_namespace", "no_such_interrupt",
	"no_such_checkpoint", "permission_denied", "not_supported",
}

func failure(codes ...string) check.Shape {
	return check.Object(check.Members{"type": check.OneOf("error"), "id": check.OrNull(check.Integer), "error": check.OneOf(codes...), "message": check.Text}, nil)
}

func (s *streaming) noSuchCommand(t *check.Talk) check.Answer {
	return t.Post(command(s.aRun(t).thread, "no.such", map[string]any{})).Fits(failure(errorCodes...))
}

func (s *streaming) emptyStart(t *check.Talk) check.Answer {
	return t.Post(command(s.aRun(t).thread, "run.start", map[string]any{})).Fits(failure(errorCodes...))
}

func (s *streaming) stateChecks() []check.Check {
	return []check.Check{
		{ID: "streaming.state.get", Level: check.Must, Says: "state.get returns the values of a thread.", Cites: streamingDoc.At("11. State Module, state.get, StateGetResult"),
			Run: func(t *check.Talk) {
				s.ask(t, "state.get", map[string]any{"namespace": []any{}}, check.Object(check.Members{"values": check.AnObject}, nil))
			}},
		{ID: "streaming.state.checkpoints", Level: check.Must, Says: "state.listCheckpoints lists the checkpoints of a thread.", Cites: streamingDoc.At("11. State Module, state.listCheckpoints, CheckpointSummary"),
			Run: func(t *check.Talk) {
				summary := check.Object(check.Members{"id": check.Text, "timestamp": check.Time, "step": check.Integer}, nil)
				s.ask(t, "state.listCheckpoints", map[string]any{}, check.Object(check.Members{"checkpoints": check.List(summary)}, nil))
			}},
		{ID: "streaming.agent.tree", Level: check.Must, Says: "agent.getTree returns the tree of a run.", Cites: streamingDoc.At("7. Agent / Lifecycle Module, agent.getTree, AgentTreeNode"),
			Run: func(t *check.Talk) {
				status := check.OneOf("started", "running", "completed", "failed", "interrupted")
				node := func(name string) check.Shape {
					return check.Object(check.Members{"namespace": check.List(check.Text), "status": status, name: check.Text}, nil)
				}
				s.ask(t, "agent.getTree", map[string]any{}, check.Object(check.Members{"tree": check.Either(node("graph_name"), node("graphName"))}, nil))
			}},
	}
}

// ask sends a command that a server may answer with not_supported.
func (s *streaming) ask(t *check.Talk, method string, params map[string]any, result check.Shape) {
	a := t.Post(command(s.aRun(t).thread, method, params))
	if a.Text("error") == "not_supported" {
		t.Skip("the server reports that it does not support %s", method)
	}
	a.Is(http.StatusOK).Fits(check.Object(check.Members{"type": check.OneOf("success"), "result": result}, nil))
}
