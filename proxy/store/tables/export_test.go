package tables

import "time"

// CountAtEachRefusal makes every refusal recount, however busy the machine is. It must be called before any test runs.
func CountAtEachRefusal() { longCount = time.Hour }
