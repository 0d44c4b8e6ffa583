package inspect

import "github.com/apbridge/apbridge/mapping"

// lossView is a field that the agent was not told as it was said, and why.
type lossView struct {
	mapping.Loss
	Reason string `json:"reason,omitempty"`
}

func (i *inspector) losses(run *mapping.Run) (list []lossView) {
	for _, l := range run.Options.Losses {
		list = append(list, lossView{l, i.Dialects.LossReason(run.Flavour, l)})
	}
	return list
}
