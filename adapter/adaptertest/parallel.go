package adaptertest

import (
	"flag"
	"runtime"
	"strconv"
)

// atOnce is the minimum number of tests of a package that run concurrently. They spend most of the time waiting for
// time limits, not for a processor.
const atOnce = 8

// WaitTogether makes tests of this binary that mostly wait run concurrently, unless the command line limits their
// number. It must be called in TestMain before the tests run.
func WaitTogether() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0))))
	}
}
