package mapping

import (
	"fmt"
	"strings"
)

// Names are what the dialect of a caller has for meanings: the names of fields, or what is said where no field alone
// has the meaning.
type Names map[Capability]string

// NamesOf are those of documented fields. Of several with one meaning the first counts.
func NamesOf(documented []RequestField) Names {
	n := Names{}
	for _, f := range documented {
		if _, named := n[f.Capability]; !named && f.Capability != "" {
			n[f.Capability] = f.Name
		}
	}
	return n
}

// Advice is a part of a message for callers whose dialect has a name for a meaning, with %s for the name. Others are
// told Else, so that no message names a field that its reader does not have.
type Advice struct {
	Meaning    Capability
	With, Else string
}

// wording is a message that says meanings in the words of the dialect that it is told in.
type wording struct {
	format string
	args   []any
	plain  string // in the words of none
}

// worded is the wording of a message whose args have a Meaning or an Advice; nil for any other.
func worded(format string, args []any) *wording {
	for _, arg := range args {
		switch arg.(type) {
		case Capability, Advice:
			w := &wording{format: format, args: args}
			w.plain = w.in(nil)
			return w
		}
	}
	return nil
}

// in is the message in the words of a dialect. A meaning without a name is said by its plain word.
func (w *wording) in(names Names) string {
	said := make([]any, len(w.args))
	for i, arg := range w.args {
		said[i] = names.say(arg)
	}
	return fmt.Sprintf(w.format, said...)
}

func (n Names) say(arg any) any {
	switch arg := arg.(type) {
	case Capability:
		if name, ok := n[arg]; ok {
			return name
		}
	case Advice:
		if name, ok := n[arg.Meaning]; ok {
			return fmt.Sprintf(arg.With, name)
		}
		return arg.Else
	}
	return arg
}

// In is the error as it is told in a dialect, by the face that answers with it. What was added to its message stays.
func (e *Error) In(names Names) *Error {
	if e.wording == nil {
		return e
	}
	own := *e
	own.Message = strings.Replace(e.Message, e.wording.plain, e.wording.in(names), 1)
	return &own
}
