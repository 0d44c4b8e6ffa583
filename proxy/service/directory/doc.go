// Package directory finds the agents that are configured, and the assistants over them, as far as a caller may use
// them, and says what they are like. The service asks it; it begins no run.
package directory
