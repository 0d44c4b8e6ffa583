package servicetest

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Dialects returns the dialects of the tests' runs.
func Dialects() adapter.Dialects {
	return adapter.Dialects{
		{
			Flavours: []adapter.Flavour{{Name: "steps", Request: "task", Strategy: mapping.StrategyReject}},
			Fields:   mapping.Fields("task", mapping.CapTaskExtra, "additional_input"),
		},
		{
			Flavours: []adapter.Flavour{{Name: "jobs", Request: "job", Strategy: mapping.StrategyReject}},
			Fields:   mapping.Fields("job", mapping.CapTaskExtra, "extra"),
		},
		{
			Flavours: []adapter.Flavour{{Name: "bare", Request: "ask", Strategy: mapping.StrategyReject}},
		},
		{
			Flavours: []adapter.Flavour{
				{Name: "langgraph", Request: "run", Strategy: mapping.StrategyEnqueue},
				{Name: "agentprotocol", Request: "run", Strategy: mapping.StrategyReject},
			},
		},
	}
}

// graphTells are the capabilities of the tests' graph.
var graphTells = mapping.Capabilities{
	mapping.CapTask:      mapping.PassedOn(),
	mapping.CapTaskExtra: mapping.Partial("The graph receives a part of it."),
	mapping.CapLinks:     mapping.Partial("The graph receives their URLs."),
	mapping.CapParts:     mapping.PassedOn(),
	mapping.CapSpeaker:   mapping.PassedOn(),
}
