// Package taskstep speaks the Agent Protocol of the AI Engineer Foundation, version v1: tasks, the steps that drive
// them, and artifacts. Package face serves its clients, and package backend calls its agents. Only the bridge imports
// it, for its table of dialects. It keeps no state and knows no other dialect. Start reading at Dialect.
package taskstep
