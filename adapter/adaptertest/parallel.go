package adaptertest

import (
	"flag"
	"runtime"
	"strconv"
)

// atOnce is how many tests of a package run at a time at least: most of their time they wait for time limits, not for a
// processor.
const atOnce = 8

// WaitTogether lets tests of this binary run at once that mostly wait, unless the command line says how many may. It is
// for TestMain, before the tests run.
func WaitTogether() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0))))
	}
}
