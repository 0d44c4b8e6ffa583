package adapter

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// LossTable returns the documented fields of all faces' requests with their treatment by the agents of every dialect,
// in a fixed order.
func (l Dialects) LossTable() []mapping.LossRow {
	var rows []mapping.LossRow
	for _, from := range slices.Backward(l) {
		for _, f := range from.fields() {
			for _, to := range l {
				if to.Dial != nil {
					h := f.For(to.Capabilities)
					rows = append(rows, mapping.LossRow{Request: f.Request, Field: f.Name, From: from.Name, To: to.Name, Fate: h.Fate, Reason: h.Reason})
				}
			}
		}
	}
	return rows
}

// UnsupportedFields returns the fields, among those sent in a request for a run of the flavour, that an agent gets only
// approximately or not at all. If the agent's capabilities are not known yet, those of the dialect that is detected
// first are used.
func (l Dialects) UnsupportedFields(name mapping.Flavour, sent []string, agent mapping.Capabilities) []mapping.Loss {
	if d, f := l.FindFlavour(name); f != nil {
		return mapping.UnsupportedFields(d.Fields, f.Request, sent, l.capabilities(agent))
	}
	return nil
}

// UnsupportedCapabilities is UnsupportedFields for capabilities instead of the field names of the flavour's dialect. A
// capability without a field there is reported under its own name.
func (l Dialects) UnsupportedCapabilities(name mapping.Flavour, meant []mapping.Capability, agent mapping.Capabilities) []mapping.Loss {
	var fields []mapping.RequestField
	var request string
	if d, f := l.FindFlavour(name); f != nil {
		fields, request = d.Fields, f.Request
	}
	return mapping.UnsupportedCapabilities(fields, request, meant, l.capabilities(agent))
}

// capabilities returns those of an agent or, if they are not known, those of the dialect that is detected first.
func (l Dialects) capabilities(agent mapping.Capabilities) mapping.Capabilities {
	if agent != nil {
		return agent
	}
	for i := range slices.Backward(l) {
		if l[i].Dial != nil {
			return l[i].Capabilities
		}
	}
	return nil
}

// fields returns the documented fields, and those that stand for losses detected by the bridge itself.
func (d Dialect) fields() []mapping.RequestField {
	list := slices.Clone(d.Fields)
	for _, flavour := range d.Flavours {
		for _, m := range mapping.DetectedByBridge() {
			if f := mapping.FieldFor(list, flavour.Request, m); !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// LossReason returns the reason in the loss table why an agent got a field of a request of the flavour in this way.
// agent is the name of the agent's dialect, or "" if it is not known. It returns "" if the table has no such loss, or
// several with different reasons.
func (l Dialects) LossReason(name mapping.Flavour, agent string, loss mapping.Loss) (reason string) {
	from, f := l.FindFlavour(name)
	if f == nil {
		return ""
	}
	for _, h := range l.fates(from, f.Request, agent, loss) {
		if reason != "" && h.Reason != reason {
			return ""
		}
		reason = h.Reason
	}
	return reason
}

// fates returns the treatment of a lost field by the agents of each dialect, or of the one named, that lose it in this
// way.
func (l Dialects) fates(from *Dialect, request, agent string, loss mapping.Loss) (list []mapping.Support) {
	for _, f := range from.fields() {
		for _, to := range l {
			if f.Request != request || f.Name != loss.Field || to.Dial == nil || agent != "" && to.Name != agent {
				continue
			}
			if h := f.For(to.Capabilities); h.Fate == loss.Fate {
				list = append(list, h)
			}
		}
	}
	return list
}
