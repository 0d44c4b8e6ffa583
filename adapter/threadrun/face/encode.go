package face

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// enc writes JSON by appending. Raw values are spliced in as they are: they
// were checked when they came in, and checking them again costs more than
// everything else here.
type enc struct {
	b []byte
	// long takes a value that is longer than a piece of an answer, instead of b; nil:
	// all is gathered in b. See answer.
	long func(v []byte)
}

// sep puts a comma where one belongs: not after an opening bracket or a colon.
func (e *enc) sep() {
	if n := len(e.b); n > 0 {
		switch e.b[n-1] {
		case '{', '[', ':':
		default:
			e.b = append(e.b, ',')
		}
	}
}

func (e *enc) open(bracket byte) *enc {
	e.sep()
	e.b = append(e.b, bracket)
	return e
}

func (e *enc) close(bracket byte) *enc {
	e.b = append(e.b, bracket)
	return e
}

// key writes a name known to need no escapes.
func (e *enc) key(name string) *enc {
	e.sep()
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
	return e
}

// anyKey writes a name from outside.
func (e *enc) anyKey(name string) *enc {
	e.sep()
	e.b = appendQuoted(e.b, name)
	e.b = append(e.b, ':')
	return e
}

func (e *enc) str(s string) *enc {
	e.sep()
	e.b = appendQuoted(e.b, s)
	return e
}

// lit writes a JSON literal.
func (e *enc) lit(s string) *enc {
	e.sep()
	e.b = append(e.b, s...)
	return e
}

// raw splices a value in, or def where there is none.
func (e *enc) raw(v json.RawMessage, def string) *enc {
	if len(v) == 0 {
		return e.lit(def)
	}
	e.sep()
	if e.long != nil && len(v) > answerPiece {
		e.long(v)
	} else {
		e.b = append(e.b, v...)
	}
	return e
}

func (e *enc) int(n int) *enc {
	e.sep()
	e.b = strconv.AppendInt(e.b, int64(n), 10)
	return e
}

func (e *enc) bool(v bool) *enc { return e.lit(strconv.FormatBool(v)) }

// timeLayout is how the dialect writes times: UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

func (e *enc) time(t time.Time) *enc {
	if t.IsZero() {
		return e.lit("null")
	}
	e.sep()
	e.b = append(e.b, '"')
	e.b = t.UTC().AppendFormat(e.b, timeLayout)
	e.b = append(e.b, '"')
	return e
}

func (e *enc) strs(list []string) *enc {
	e.open('[')
	for _, s := range list {
		e.str(s)
	}
	return e.close(']')
}

func (e *enc) raws(list []json.RawMessage) *enc {
	e.open('[')
	for _, v := range list {
		e.raw(v, "null")
	}
	return e.close(']')
}

// appendQuoted writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	return rawjson.AppendQuote(dst, s)
}

func itoa(n int) string { return strconv.Itoa(n) }
