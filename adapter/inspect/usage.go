package inspect

import (
	"strconv"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// usage is what an agent's models used, as the agent reported it.
type usage struct {
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost_usd,omitempty"`
}

// usageOrNil returns nil if nothing was reported.
func usageOrNil(u mapping.Usage) *usage {
	if u == (mapping.Usage{}) {
		return nil
	}
	return &usage{u.Input, u.Output, u.Cost}
}

// usageOf returns the tokens of one event. Its cost would be that of the task so far.
func usageOf(ev *mapping.Event) *usage {
	u := rule.EventUsage(ev)
	u.Cost = 0
	return usageOrNil(u)
}

// Tokens returns the sum of input and output.
func (u usage) Tokens() int64 { return u.Input + u.Output }

// Dollars returns the cost for display; "" if there is none.
func (u usage) Dollars() string { return dollars(u.Cost) }

func dollars(cost float64) string {
	switch {
	case cost <= 0:
		return ""
	case cost < 0.0001:
		return "under $0.0001"
	case cost < 1:
		return "$" + strconv.FormatFloat(cost, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(cost, 'f', 2, 64)
}
