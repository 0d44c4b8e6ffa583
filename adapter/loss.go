package adapter

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// LossTable returns every documented field of every face's requests in front of the agents of every dialect, in a fixed
// order.
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

// UnsupportedFields returns the fields, among those sent to make a run of the flavour, that an agent gets only
// approximately or not at all. An agent whose capabilities are not known yet counts as one of the dialect that it would
// be asked for first.
func (l Dialects) UnsupportedFields(name mapping.Flavour, sent []string, agent mapping.Capabilities) []mapping.Loss {
	if d, f := l.findFlavour(name); f != nil {
		return mapping.UnsupportedFields(d.Fields, f.Request, sent, l.capabilities(agent))
	}
	return nil
}

// UnsupportedCapabilities is UnsupportedFields for capabilities, whatever the dialect of the flavour calls its fields.
// A capability without a field there is reported under its own name.
func (l Dialects) UnsupportedCapabilities(name mapping.Flavour, meant []mapping.Capability, agent mapping.Capabilities) []mapping.Loss {
	var fields []mapping.RequestField
	var request string
	if d, f := l.findFlavour(name); f != nil {
		fields, request = d.Fields, f.Request
	}
	return mapping.UnsupportedCapabilities(fields, request, meant, l.capabilities(agent))
}

// capabilities are those of an agent, or, where they are not known, of one of the dialect that it would be asked for
// first.
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

// fields are the documented ones, and those under whose names Lost tells of what the bridge itself finds lost.
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

// LossReason returns why an agent got a field of a request of the flavour as it did, by the loss table. "" is of a loss
// that no dialect's agents have, or that they have for different reasons: none is guessed.
func (l Dialects) LossReason(name mapping.Flavour, loss mapping.Loss) (reason string) {
	from, f := l.findFlavour(name)
	if f == nil {
		return ""
	}
	for _, h := range l.fates(from, f.Request, loss) {
		if reason != "" && h.Reason != reason {
			return ""
		}
		reason = h.Reason
	}
	return reason
}

// fates are what becomes of a lost field in front of the agents of each dialect that lose it so.
func (l Dialects) fates(from *Dialect, request string, loss mapping.Loss) (list []mapping.Support) {
	for _, f := range from.fields() {
		for _, to := range l {
			if f.Request != request || f.Name != loss.Field || to.Dial == nil {
				continue
			}
			if h := f.For(to.Capabilities); h.Fate == loss.Fate {
				list = append(list, h)
			}
		}
	}
	return list
}
