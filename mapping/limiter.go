package mapping

import "fmt"

// Limiter is the source of a run's maximum number of steps.
type Limiter string

const (
	LimitedByDefault   Limiter = "" // of agents of its dialect
	LimitedByRequest   Limiter = "request"
	LimitedByAssistant Limiter = "assistant"
	LimitedByConfig    Limiter = "config" // max_steps of the agent
)

// Allows completes a message about the maximum number of steps of an agent's run, after a comma.
func (l Limiter) Allows(agent string) string {
	switch l {
	case LimitedByRequest:
		return "the most that the request allows (config.recursion_limit)"
	case LimitedByAssistant:
		return "the most that its assistant allows (config.recursion_limit)"
	case LimitedByConfig:
		return fmt.Sprintf("the most that the bridge's configuration allows (agents.%s.max_steps)", agent)
	}
	return fmt.Sprintf("the most that the bridge allows if agents.%s.max_steps is not set", agent)
}
