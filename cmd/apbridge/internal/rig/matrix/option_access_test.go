package matrix

import (
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// accessProofs are about who may call, besides those with one key: guardProofs.
var accessProofs = map[string]func(*testing.T){
	"auth.keys[].keys":               rig.ProvenBy("proxy/auth", "TestKeysAreChangedWithoutABreak"),
	"auth.keys[].expires":            rig.ProvenBy("proxy/auth", "TestKeysExpire"),
	"auth.keys[].scope":              rig.ProvenBy("cmd/apbridge", "TestEveryOperationAsksWho"),
	"auth.jwt[].id":                  rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].issuer":              rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].jwks":                rig.ProvenBy("proxy/auth", "TestKeysOfAFile"),
	"auth.jwt[].audience":            rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].algorithms":          rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].leeway":              rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].max_age":             rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].stale":               rig.ProvenBy("proxy/auth", "TestE19_KeysOfTheIssuer"),
	"auth.jwt[].claims.id":           rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].claims.tenant":       rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].claims.rights":       rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].claims.agents":       rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].claims.namespaces":   rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].tenant":              rig.ProvenBy("proxy/auth", "TestE19_Tokens"),
	"auth.jwt[].agents":              rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].rights":              rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].scope":               rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].queue":               rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.jwt[].namespaces":          rig.ProvenBy("proxy/auth", "TestTokensSayWhatTheyMay"),
	"auth.certificates[].id":         rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].subject":    rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].san":        rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].tenant":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].agents":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].rights":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].scope":      rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].queue":      rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].namespaces": rig.ProvenBy("proxy", "TestCertificates"),
}
