package rule

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

func BenchmarkStepUpdate(b *testing.B) {
	info := mapping.StepInfo{ID: "1", Output: asRaw(`"done with it"`), Additional: asRaw(`{"cost":1}`)}
	b.ReportAllocs()
	for b.Loop() {
		StepUpdate(someRun, someTask, 3, info, nil, mapping.ApprovalAuto)
	}
}

func BenchmarkParseInput(b *testing.B) {
	input := asRaw(`{"messages":[{"role":"user","content":"hello there"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseInput(input, nil, someRun); err != nil {
			b.Fatal(err)
		}
	}
}
