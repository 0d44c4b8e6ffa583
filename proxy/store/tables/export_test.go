package tables

import "time"

// CountAtEachRefusal makes every refusal count anew, however busy the machine is. It is called before any test runs.
func CountAtEachRefusal() { longCount = time.Hour }
