package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/config"
)

// Sign returns the value of X-Apbridge-Signature: "t=SECONDS,v1=HEX,v2=HEX", followed by v1 and v2 for each further
// secret, or "" without secrets. v1 is the HMAC-SHA256 of SECONDS, a dot and the body. v2 is that of SECONDS, a dot,
// the delivery, a dot and the body. A receiver computes the same value and refuses old times, which prevents a later
// replay. With v2 an earlier replay as another delivery is also prevented.
func Sign(secrets []string, at time.Time, delivery string, body []byte) string {
	if len(secrets) == 0 {
		return ""
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	signed := "t=" + seconds
	for _, secret := range secrets {
		signed += ",v1=" + sum(secret, seconds+".", body) + ",v2=" + sum(secret, seconds+"."+delivery+".", body)
	}
	return signed
}

func sum(secret, before string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(before))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// secretsOf puts the previous secret last, for receivers that know only that secret and read only the last v2.
func secretsOf(cfg *config.Webhooks) (list []string) {
	for _, secret := range []config.Secret{cfg.Secret, cfg.PreviousSecret} {
		if secret != "" {
			list = append(list, secret.Reveal())
		}
	}
	return list
}
