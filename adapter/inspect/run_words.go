package inspect

import (
	"fmt"
	"html/template"
	"time"

	"github.com/apbridge/apbridge/mapping/rule"
)

// runFunctions are what the templates of a run write numbers and values with.
var runFunctions = template.FuncMap{
	"seconds": secondsText, "share": share, "after": func(a, b, of float64) float64 { return share(a+b, of) }, "add": func(a, b int) int { return a + b },
	"question": rule.QuestionText, "part": func(name string, p partView, link string) namedPart { return namedPart{name, p, link} },
}

// namedPart is what the template of one half of a call is executed with.
type namedPart struct {
	Name string
	Part partView
	Link string
}

// secondsText is a length of time for people.
func secondsText(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", s*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", s*1000)
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", s)
	default:
		return d.Round(time.Second).String()
	}
}

// share is a part in percent.
func share(part, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(int(10000*part/of)) / 100
}
