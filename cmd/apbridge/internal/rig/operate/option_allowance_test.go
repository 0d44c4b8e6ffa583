package operate

import (
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// allowanceProofs has the proofs of limits of keys and tenants.
func allowanceProofs() map[string]func(*testing.T) {
	proofs := map[string]func(*testing.T){}
	for _, at := range []string{"limits.tenant.", "limits.tenants.*.", "auth.keys[].limits."} {
		for _, limit := range []string{"requests", "runs", "upload", "threads", "crons", "items", "files", "disk"} {
			proofs[at+limit] = rig.ProvenBy("cmd/apbridge/internal/rig/operate", "TestAllowances")
		}
		proofs[at+"streams"] = rig.ProvenBy("cmd/apbridge/internal/rig/operate", "TestLimitOfOpenStreams")
	}
	for key, name := range map[string]string{"inspector.mode": "TestInspectorNeedsARight", "inspector.capture": "TestInspectorKeepsCallsAsConfigured"} {
		proofs[key] = rig.ProvenBy("cmd/apbridge/internal/rig/inspect", name)
	}
	for key, name := range map[string]string{
		"audit.file": "TestAuditOfEachRoute", "audit.reads": "TestAuditWithoutReads", "audit.max_size": "TestAuditRotates", "audit.keep": "TestAuditRotates",
	} {
		proofs[key] = rig.ProvenBy("cmd/apbridge/internal/rig/operate", name)
	}
	return proofs
}
